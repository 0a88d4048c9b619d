"""Shows pages a model writes beside its chat; the plugin is `ahpd_canvas.plugin`."""
