"""Resource watches: channels that say what changed under a root (AHP.txt, `createResourceWatch`)."""
