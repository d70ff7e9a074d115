/**
 * Writes `tasks/train.jsonl` and `tasks/test.jsonl`: questions of three difficulties (one table, a join, a nested query) with
 * their SQL; and `tasks/demonstrations.jsonl`: queries for the training questions, with the right tables and names, but most
 * of them with a random function and a random column. Run it with another seed for other tasks: `node make-tasks.ts 7`.
 *
 * @module
 */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { resultText } from './agent.ts';
import type { QuestionTask } from './agl.config.ts';
import { type DatabaseName, openDatabase, query } from './databases.ts';
import type { Demonstration } from './demonstration.ts';

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

/** What a query selects: `avg(hp)`. */
interface Selected {
  readonly name: string;
  readonly column: string;
}

/** A function or a column, in SQL and in words. */
interface Term {
  readonly sql: string;
  readonly words: string;
}

/** A question, and its query for any function and column. */
interface Question {
  readonly database: DatabaseName;
  readonly difficulty: 'table' | 'join' | 'nested';
  readonly text: string;
  readonly asked: Selected;
  readonly sql: (selected: Selected) => string;
}

const functions: readonly Term[] = [
  { sql: 'avg', words: 'Mean' },
  { sql: 'max', words: 'Highest' },
  { sql: 'min', words: 'Lowest' },
];

const databases = {
  cars: openDatabase('cars'),
  lands: openDatabase('lands'),
};

/** The tables of a database, in SQL and in words. */
interface Tables {
  readonly facts: string;
  readonly key: string;
  readonly noun: string;
  readonly columns: readonly Term[];
}

const tables: Readonly<Record<DatabaseName, Tables>> = {
  cars: {
    facts: 'car',
    key: 'maker',
    noun: 'cars',
    columns: [
      { sql: 'mpg', words: 'mileage' },
      { sql: 'hp', words: 'power' },
      { sql: 'lbs', words: 'weight' },
    ],
  },
  lands: {
    facts: 'life',
    key: 'land',
    noun: 'lands',
    columns: [
      { sql: 'pop', words: 'population' },
      { sql: 'age', words: 'life span' },
      { sql: 'kids', words: 'births' },
    ],
  },
};

/** Every question of a database. */
function questionsOf(database: DatabaseName): readonly Question[] {
  const { facts, key, noun, columns } = tables[database];
  return functions.flatMap((fn) =>
    columns.flatMap((column) => {
      const asked = { name: fn.sql, column: column.sql };
      const opening = `${fn.words} ${column.words}`;
      return [
        ...valuesOf(database, key).map(
          (value): Question => ({
            database,
            difficulty: 'table',
            text: `${opening} of ${value}?`,
            asked,
            sql: ({ name, column: by }) => `select ${name}(${by}) from ${facts} where ${key}='${value}'`,
          }),
        ),
        ...valuesOf(database, 'area').map(
          (area): Question => ({
            database,
            difficulty: 'join',
            text: `${opening} of ${noun} in ${area}?`,
            asked,
            sql: ({ name, column: by }) =>
              `select ${name}(${by}) from ${facts} join ${key} using(${key}) where area='${area}'`,
          }),
        ),
        ...columns.map(
          (other): Question => ({
            database,
            difficulty: 'nested',
            text: `${opening} of ${noun} with ${other.words} above the mean?`,
            asked,
            sql: ({ name, column: by }) =>
              `select ${name}(${by}) from ${facts} where ${other.sql}>(select avg(${other.sql}) from ${facts})`,
          }),
        ),
      ];
    }),
  );
}

/** The areas, the makers with many cars, or some lands. */
function valuesOf(database: DatabaseName, column: string): readonly string[] {
  if (column === 'land') return ['Brazil', 'China', 'Egypt', 'France', 'India', 'Japan', 'Kenya', 'Mexico'];
  const { facts, key } = tables[database];
  const sql = `select ${column} from ${facts} join ${key} using(${key}) group by ${column} having count(*) > 22 order by ${column}`;
  return databases[database]
    .prepare(sql)
    .all()
    .map((row) => String(row[column]));
}

const questions = [...questionsOf('cars'), ...questionsOf('lands')];

/** One difficulty after the other, so that each is a third of the tasks. */
function drawQuestion(index: number, from: readonly Question[]): Question {
  const difficulty = (['table', 'join', 'nested'] as const)[index % 3];
  return pick(from.filter((question) => question.difficulty === difficulty));
}

function isHeldOut({ text }: Question): boolean {
  return createHash('sha256').update(`${seed}/${text}`).digest().readUInt32BE() % 5 === 0;
}

const task = ({ database, text, asked, sql }: Question): QuestionTask => ({
  database,
  question: text,
  sql: sql(asked),
});

const heldOut = questions.filter(isHeldOut);
const trained = questions.filter((question) => !isHeldOut(question));

/** The right query for four questions in ten, else one with a random function and column. */
function noisyQuery({ database, asked, sql }: Question): string {
  return sql(draw(10) < 4 ? asked : { name: pick(functions).sql, column: pick(tables[database].columns).sql });
}

/** A query with a column of the other database, or with the end of another question, which has no rows there. */
function failingQuery(question: Question): string {
  const others = questions.filter(
    ({ database, difficulty }) => database !== question.database && difficulty !== 'nested',
  );
  if (question.difficulty === 'nested' || draw(2) === 0) {
    const { columns } = tables[question.database === 'cars' ? 'lands' : 'cars'];
    return question.sql({ name: pick(functions).sql, column: pick(columns).sql });
  }
  const [, value = ''] = /='(.*)'/.exec(pick(others).sql({ name: '', column: '' })) ?? [];
  return noisyQuery(question).replace(/='.*'/, `='${value}'`);
}

/** One in four queries fails and is rewritten. */
function drawDemonstration(index: number): Demonstration {
  const question = drawQuestion(index, trained);
  const isFailing = draw(4) === 0;
  const written = isFailing ? failingQuery(question) : noisyQuery(question);
  const result = resultText(query(databases[question.database], written));
  const hasFailed = isFailing && !/^[\d.]+$/.test(result);
  return {
    database: question.database,
    question: question.text,
    written,
    result,
    rewritten: hasFailed ? noisyQuery(question) : null,
  };
}

function writeTasks(file: string, lines: readonly object[]): void {
  writeFileSync(new URL(file, import.meta.url), `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`);
}

writeTasks(
  'tasks/train.jsonl',
  Array.from({ length: 384 }, (_, index) => task(drawQuestion(index, trained))),
);
writeTasks('tasks/test.jsonl', heldOut.map(task));
writeTasks(
  'tasks/demonstrations.jsonl',
  Array.from({ length: 2048 }, (_, index) => drawDemonstration(index)),
);
