"""The domains of a host that is built, before they are served or put in their order."""

import attrs

from ahpd.app.agent_side import Later
from ahpd.app.domains import ResourceParts
from ahpd.app.kept_records import KeptRecords
from ahpd.app.offers import Offers
from ahpd.attachments.folder import AttachmentsFolder
from ahpd.credentials.service import Credentials
from ahpd.records.records_service import AgentRecordsService
from ahpd.records.service import AgentsService
from ahpd.root.service import RootService
from ahpd.sessions.service import SessionsService
from ahpd.sessions.session_artifacts import ArtifactsKept
from ahpd.terminals.service import TerminalsService
from ahpd.tools.registry import ToolRegistry


@attrs.frozen(kw_only=True, eq=False)
class Domains:
    """See the module."""

    folder: AttachmentsFolder | None
    """Where what comes with messages is kept; None keeps none."""
    resources: ResourceParts
    terminals: TerminalsService | None
    kept: KeptRecords
    agents: AgentsService
    records: AgentRecordsService
    root: RootService
    credentials: Credentials
    offers: Offers
    sessions: SessionsService
    tools: ToolRegistry
    artifacts: ArtifactsKept
    later: Later
