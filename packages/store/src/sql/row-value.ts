import { AgentLightningError, type JsonObject, type JsonValue, ValidationError } from '@agentlightning/core';
import { errorMessage } from '@agentlightning/core/internal';
import type { SqlRow } from './sql-driver.ts';

/** The text in a column. */
export function readText(row: SqlRow, column: string): string {
  const value = row[column];
  if (typeof value !== 'string') throw unexpected(column, value);
  return value;
}

/** The text in a column, or null. */
export function readTextOrNull(row: SqlRow, column: string): string | null {
  return row[column] === null ? null : readText(row, column);
}

/** The number in a column. */
export function readNumber(row: SqlRow, column: string): number {
  const value = row[column];
  if (typeof value !== 'number') throw unexpected(column, value);
  return value;
}

/** The number in a column, or null. */
export function readNumberOrNull(row: SqlRow, column: string): number | null {
  return row[column] === null ? null : readNumber(row, column);
}

/** The integer in a column, which some databases return as text or bigint. */
export function readInteger(row: SqlRow, column: string): number {
  const value = Number(row[column]);
  if (!Number.isSafeInteger(value)) throw unexpected(column, row[column]);
  return value;
}

/**
 * The JSON in a column. Its shape is trusted because only this package writes the column.
 */
export function readJson<TValue>(row: SqlRow, column: string): TValue {
  return JSON.parse(readText(row, column)) as TValue;
}

/** The JSON object in a column, or null. */
export function readJsonOrNull(row: SqlRow, column: string): JsonObject | null {
  return row[column] === null ? null : readJson<JsonObject>(row, column);
}

/**
 * JSON text of a value for a column.
 *
 * @throws ValidationError when the value cannot be represented in JSON
 */
export function toJson(value: JsonValue | object, what: string): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (cause) {
    throw new ValidationError(what, [{ path: '', message: errorMessage(cause) }], cause);
  }
  if (text === undefined) {
    throw new ValidationError(what, [{ path: '', message: `a ${typeof value} has no JSON form` }]);
  }
  return text;
}

function unexpected(column: string, value: unknown): AgentLightningError {
  return new AgentLightningError({
    code: 'STORE_SCHEMA',
    message: `Column ${column} of the store holds ${String(value)}, which was not written by this package`,
  });
}
