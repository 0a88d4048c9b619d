"""`python -m ahpd` is the `ahpd` command."""

from ahpd.cli.main import main

if __name__ == "__main__":
    main()
