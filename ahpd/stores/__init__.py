"""Where sessions are kept: what is behind `ahpd.interfaces.stores.ISessionStore`."""
