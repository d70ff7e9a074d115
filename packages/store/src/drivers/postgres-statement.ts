/** A statement as PostgreSQL takes it. */
export interface PostgresStatement {
  /** Under which name a connection keeps it prepared; undefined for one that is not kept. */
  readonly name: string | undefined;
  readonly text: string;
}

const maxKept = 500;
const kept = new Map<string, PostgresStatement>();

/** The statement with numbered placeholders instead of question marks. Those that come again and again are kept prepared. */
export function postgresStatement(sql: string): PostgresStatement {
  const known = kept.get(sql);
  if (known !== undefined) return known;
  let count = 0;
  const text = sql.replace(/'[^']*'|"[^"]*"|\?/g, (part) => {
    if (part !== '?') return part;
    count += 1;
    return `$${count}`;
  });
  // A plan that is kept is one for any value. What is looked for in an inverted index may be in one row or in all of them.
  if (kept.size >= maxKept || / (@>|LIKE) /.test(text)) return { name: undefined, text };
  const statement = { name: `agl_${kept.size}`, text };
  kept.set(sql, statement);
  return statement;
}
