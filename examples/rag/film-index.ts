/**
 * A full-text index of films: one document for each film of vega-datasets, in SQLite FTS5.
 *
 * @module
 */
import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { z } from 'zod';

/** A document of the index. */
export interface Film {
  readonly id: number;
  readonly title: string;
  readonly genre: string;
  /** The year of its release. */
  readonly year: string;
  /** Audience rating, such as `PG-13`. */
  readonly rating: string;
}

const record = z.object({
  Title: z.union([z.string(), z.number()]).nullable(),
  'Release Date': z.string().nullable(),
  'Major Genre': z.string().nullable(),
  'MPAA Rating': z.string().nullable(),
});

/** The films with genre, year and rating. */
export const films: readonly Film[] = z
  .array(record)
  .parse(JSON.parse(readFileSync(new URL('../data/movies.json', import.meta.resolve('vega-datasets')), 'utf8')))
  .flatMap((row, index) => {
    const year = /\d{4}$/.exec(row['Release Date'] ?? '')?.[0];
    const [genre] = row['Major Genre']?.split('/') ?? [];
    if (row.Title === null || year === undefined || genre === undefined || row['MPAA Rating'] === null) return [];
    return [{ id: index, title: String(row.Title), genre, year, rating: row['MPAA Rating'] }];
  });

/** The text of a document. */
function documentText({ title, genre, year, rating }: Film): string {
  return `${title}: ${genre}, ${year}, ${rating}`;
}

const database = new DatabaseSync(':memory:');
database.exec('create virtual table film using fts5(text)');
const insert = database.prepare('insert into film(rowid, text) values (?, ?)');
for (const film of films) insert.run(film.id, documentText(film));
const search = database.prepare('select rowid from film where film match ? order by rank limit 2');
const byId = new Map(films.map((film) => [film.id, film]));

/** The two documents that match the words best; none for words that are in no document. */
export function searchFilms(words: string): readonly Film[] {
  const terms = words.match(/[\p{L}\p{N}]+/gu) ?? [];
  if (terms.length === 0) return [];
  return search.all(terms.map((term) => `"${term}"`).join(' ')).flatMap(({ rowid }) => byId.get(Number(rowid)) ?? []);
}

/** The result of a search as the model sees it: the documents with the numbers by which they are cited. */
export function resultText(found: readonly Film[]): string {
  if (found.length === 0) return 'nothing';
  return found.map((film, index) => `[${index + 1}] ${documentText(film)}`).join('\n');
}
