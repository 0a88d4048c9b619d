"""Views: small A2UI surfaces, checked before anybody is sent one."""
