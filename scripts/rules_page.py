"""Write the table of rules into its page: python scripts/rules_page.py"""

from pathlib import Path

from fanlight.check.report import as_markdown

BEGIN, END = "<!-- rules: begin -->\n", "<!-- rules: end -->"

page = Path(__file__).parents[1] / "docs" / "reference" / "rules.md"
before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
page.write_text(f"{before}{BEGIN}{as_markdown()}{END}{rest.partition(END)[2]}", encoding="utf-8")
