import type { SqlDialect } from '../sql/sql-dialect.ts';

/** The tables of contents that records refer to, such as images: see `rows/embedded-contents.ts`. */
export function contentTables({ name, columnTypes: { text } }: SqlDialect): readonly string[] {
  return [
    // By the SHA-256 of the content in hexadecimal.
    `CREATE TABLE contents (
      digest ${text} PRIMARY KEY,
      content ${text} NOT NULL
    )`,
    // By rollout, not by span: rollouts are deleted with all of their spans.
    `CREATE TABLE content_references (
      -- No reference: the input of a rollout is stored before the rollout.
      rollout_id ${text} NOT NULL,
      digest ${text} NOT NULL REFERENCES contents (digest),
      PRIMARY KEY (rollout_id, digest)
    )${name === 'sqlite' ? ' WITHOUT ROWID' : ''}`,
    'CREATE INDEX content_references_by_digest ON content_references (digest)',
  ];
}
