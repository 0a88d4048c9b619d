"""JSON Schemas that others write: values held to them, secrets in them, gaps in them."""

from ahpd.schemas.checking import check_value, unknown_keys
from ahpd.schemas.documents import plain
from ahpd.schemas.failures import BrokenSchema, Misfit
from ahpd.schemas.filling import fields_of, filled
from ahpd.schemas.forms import form_of
from ahpd.schemas.gaps import gaps
from ahpd.schemas.marked_fields import secret_paths, write_only_paths
from ahpd.schemas.marks import SET, all_hidden, hidden, node_of, restored, secrets_in, unmarked
from ahpd.schemas.references import is_reference, texts_read
from ahpd.schemas.sent_back import sent_back
from ahpd.schemas.striking import struck
from ahpd.schemas.vaulted import Unread, Vaulted, prefix

__all__ = [
    "SET",
    "BrokenSchema",
    "Misfit",
    "Unread",
    "Vaulted",
    "all_hidden",
    "check_value",
    "fields_of",
    "filled",
    "form_of",
    "gaps",
    "hidden",
    "is_reference",
    "node_of",
    "plain",
    "prefix",
    "restored",
    "secret_paths",
    "secrets_in",
    "sent_back",
    "struck",
    "texts_read",
    "unknown_keys",
    "unmarked",
    "write_only_paths",
]
