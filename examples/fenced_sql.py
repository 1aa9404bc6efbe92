"""A query in a fenced code block, by a ready grammar of the library; what is written between the fences parses."""

import constrained
from grammars.library import grammar

SQL = constrained.seq("```sql\n", constrained.gbnf(grammar("sql_select").text), "\n```")

model = constrained.load()
task = "Write SQL that lists the names of all customers from the table customers, sorted by name."
result = model.generate(task, SQL, max_tokens=60)
print(result.text)
