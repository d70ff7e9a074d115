/**
 * Two SQLite databases made of vega-datasets: cars with their makers, and the lands of the Gapminder data with their areas.
 *
 * @module
 */
import { readFileSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { z } from 'zod';

/** The name of a database. */
export const databaseName = z.enum(['cars', 'lands']);

export type DatabaseName = z.infer<typeof databaseName>;

/** The tables of each database, as the agent sees them. */
export const schemas: Readonly<Record<DatabaseName, string>> = {
  cars: 'car(maker,mpg,hp,lbs) maker(maker,area)',
  lands: 'life(land,pop,age,kids) land(land,area)',
};

const car = z.object({
  Name: z.string(),
  Miles_per_Gallon: z.number().nullable(),
  Horsepower: z.number().nullable(),
  Weight_in_lbs: z.number(),
  Origin: z.string(),
});

const land = z.object({
  country: z.string(),
  cluster: z.int().min(0).max(5),
  pop: z.number(),
  life_expect: z.number(),
  fertility: z.number(),
});

/** Names of the clusters of gapminder.json. */
const areas = ['South Asia', 'Europe', 'Africa', 'America', 'Pacific', 'Middle East'];

/** Opens a database in memory; it is read-only. */
export function openDatabase(name: DatabaseName): DatabaseSync {
  const database = new DatabaseSync(':memory:');
  if (name === 'cars') fillCars(database);
  else fillLands(database);
  database.exec('pragma query_only = on');
  return database;
}

function fillCars(database: DatabaseSync): void {
  database.exec('create table maker(maker text primary key, area text); create table car(maker, mpg, hp, lbs)');
  const rows = readDataset('cars.json', car).map((row) => ({ ...row, maker: row.Name.split(' ')[0] ?? '' }));
  insert(
    database,
    'insert or ignore into maker values (?, ?)',
    rows.map(({ maker, Origin }) => [maker, Origin]),
  );
  insert(
    database,
    'insert into car values (?, ?, ?, ?)',
    rows.map((row) => [row.maker, row.Miles_per_Gallon, row.Horsepower, row.Weight_in_lbs]),
  );
}

function fillLands(database: DatabaseSync): void {
  database.exec('create table land(land text primary key, area text); create table life(land, pop, age, kids)');
  const rows = readDataset('gapminder.json', land);
  insert(
    database,
    'insert or ignore into land values (?, ?)',
    rows.map(({ country, cluster }) => [country, areas[cluster] ?? '']),
  );
  insert(
    database,
    'insert into life values (?, ?, ?, ?)',
    rows.map((row) => [row.country, row.pop, row.life_expect, row.fertility]),
  );
}

function readDataset<TRow>(file: string, row: z.ZodType<TRow>): readonly TRow[] {
  const url = new URL(`../data/${file}`, import.meta.resolve('vega-datasets'));
  return z.array(row).parse(JSON.parse(readFileSync(url, 'utf8')));
}

function insert(database: DatabaseSync, sql: string, rows: readonly (readonly SQLInputValue[])[]): void {
  const statement = database.prepare(sql);
  for (const row of rows) statement.run(...row);
}

/** The rows of a query, or the error of SQLite. */
export type QueryResult = { readonly rows: readonly object[] } | { readonly error: string };

/** Runs a query. */
export function query(database: DatabaseSync, sql: string): QueryResult {
  try {
    return { rows: database.prepare(sql).all() };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}
