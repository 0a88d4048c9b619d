"""Lets other programs start sessions over HTTP; the plugin is `ahpd_webhook.plugin`."""
