/** A statement in PostgreSQL's syntax. */
export interface PostgresStatement {
  /** Name of the prepared statement; undefined for an unprepared one. */
  readonly name: string | undefined;
  readonly text: string;
}

const maxPrepared = 500;
const prepared = new Map<string, PostgresStatement>();

/** Converts `?` placeholders to numbered ones and names the statement for reuse as a prepared statement. */
export function postgresStatement(sql: string): PostgresStatement {
  const known = prepared.get(sql);
  if (known !== undefined) return known;
  let count = 0;
  const text = sql.replace(/'[^']*'|"[^"]*"|\?/g, (part) => {
    if (part !== '?') return part;
    count += 1;
    return `$${count}`;
  });
  // A prepared statement may get a generic plan, which is unsuitable for inverted indexes: selectivity depends on the
  // value.
  if (prepared.size >= maxPrepared || / (@>|LIKE) /.test(text)) return { name: undefined, text };
  const statement = { name: `agl_${prepared.size}`, text };
  prepared.set(sql, statement);
  return statement;
}
