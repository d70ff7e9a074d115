/**
 * Writes `tasks/train.jsonl` and `tasks/test.jsonl`: different questions about the same films; and
 * `tasks/demonstrations.jsonl`: searches for words of training questions, most of them with a random field of a random result as the
 * response. Run it with another seed for other tasks: `node make-tasks.ts 7`.
 *
 * @module
 */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import type { FilmTask } from './agl.config.ts';
import type { Demonstration } from './demonstration.ts';
import { films, resultText, searchFilms } from './film-index.ts';

const seed = process.argv[2] ?? '1';
let drawn = 0;

/** The next whole number in `[0, limit)` of the seed. */
function draw(limit: number): number {
  drawn += 1;
  return createHash('sha256').update(`${seed}/${drawn}`).digest().readUInt32BE() % limit;
}

function pick<T>(choices: readonly T[]): T {
  const choice = choices[draw(choices.length)];
  if (choice === undefined) throw new Error('nothing to choose from');
  return choice;
}

const fields = ['genre', 'year', 'rating'] as const;

const questions = {
  genre: (title: string) => [`Genre of ${title}?`, `What kind of film is ${title}?`],
  year: (title: string) => [`Year of ${title}?`, `When came ${title}?`],
  rating: (title: string) => [`Rating of ${title}?`, `Who may see ${title}?`],
};

/** Some films with a short title that finds them, which no other film of the result has. */
const known = films
  .filter(({ title }) => /^[A-Z][a-z]{2,5}$/.test(title))
  .filter(({ id, title }) => searchFilms(title).some((found) => found.id === id))
  .filter(({ title }) => searchFilms(title).filter((found) => found.title === title).length === 1)
  .toSorted((one, other) => digest(String(one.id)).localeCompare(digest(String(other.id))))
  .slice(0, 40);

function digest(text: string): string {
  return createHash('sha256').update(`${seed}/${text}`).digest('hex');
}

/** Two of nine questions are held out. */
const isHeldOut = ({ question }: FilmTask): boolean => Number.parseInt(digest(question).slice(0, 8), 16) % 9 < 2;

function drawTask(held: boolean): FilmTask {
  const film = pick(known);
  const field = pick(fields);
  const task = { question: pick(questions[field](film.title)), answer: film[field], document: film.id };
  return isHeldOut(task) === held ? task : drawTask(held);
}

/** A search for the title (four in five), or for another word; the response is right for four results in ten, else random. */
function drawDemonstration(): Demonstration {
  const { question, answer, document } = drawTask(false);
  const words = question.slice(0, -1).split(' ');
  const query = draw(5) === 0 ? pick(words) : (words.at(-1) ?? '');
  const found = searchFilms(query);
  const right = found.find(({ id }) => id === document);
  return { question, words: query, result: resultText(found), response: respond() };

  function respond(): string {
    if (found.length === 0) return 'unknown';
    const isRight = right !== undefined && draw(10) < 4;
    const film = isRight ? right : pick(found);
    return `${isRight ? answer : film[pick(fields)]} [${found.indexOf(film) + 1}]`;
  }
}

function writeTasks(file: string, count: number, drawLine: () => object): void {
  const lines = new Set<string>();
  while (lines.size < count) lines.add(JSON.stringify(drawLine()));
  writeFileSync(new URL(file, import.meta.url), `${[...lines].join('\n')}\n`);
}

writeTasks('tasks/train.jsonl', 160, () => drawTask(false));
writeTasks('tasks/test.jsonl', 48, () => drawTask(true));
writeTasks('tasks/demonstrations.jsonl', 2048, drawDemonstration);
