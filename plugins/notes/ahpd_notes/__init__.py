"""Notes as Markdown files, for people and for models; the plugin is `ahpd_notes.plugin`."""
