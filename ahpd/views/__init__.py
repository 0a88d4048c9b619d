"""Views: small A2UI surfaces, checked before anybody is sent one."""

from ahpd.views.check import check_view
from ahpd.views.handle import Views
from ahpd.views.translated import translated

__all__ = ["Views", "check_view", "translated"]
