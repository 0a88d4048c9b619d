"""Says over HTTP whether the daemon is alive; the plugin is `ahpd_heartbeat.plugin`."""
