import { AgentLightningError } from '@agentlightning/core';
import { InvalidArgumentError, Option } from 'commander';
import type { BudgetConfig } from '../config/sections/limits-config.ts';

/** The arguments of a command and the callback for its exit code. */
export interface ProgramOptions {
  /** The arguments, without the program. */
  readonly args: readonly string[];
  readonly setExitCode: (code: number) => void;
}

/** Help text of `--store`. */
export const storeHelp = 'sqlite:<file>, postgres://…, or the http address of a store server';

const unitsMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A parser for a flag with a duration, such as `90s`, `30m`, `12h` or `30d`; in milliseconds. */
export function durationMs(text: string): number {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)([smhd])$/.exec(text) ?? [];
  const unitMs = unitsMs[unit ?? ''];
  if (amount === undefined || unitMs === undefined) {
    throw new InvalidArgumentError(`"${text}" is not a duration such as 90s, 30m, 12h or 30d.`);
  }
  return Number(amount) * unitMs;
}

/** A parser for repeated flags with the age of a deployment's traces, such as `support-agent=30d`; in milliseconds by name. */
export function traceAges(
  text: string,
  earlier: Readonly<Record<string, number>> = {},
): Readonly<Record<string, number>> {
  const [name = '', age] = text.split('=');
  if (name !== '' && age !== undefined) return { ...earlier, [name]: durationMs(age) };
  throw new InvalidArgumentError(`"${text}" is not a deployment with an age, such as support-agent=30d.`);
}

/**
 * Parses the value of `--task`.
 *
 * @throws AgentLightningError CONFIG when it is not JSON
 */
export function parseTaskFlag(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const remedy = 'Write one JSON value in single quotes.';
    throw new AgentLightningError({ code: 'CONFIG', message: `--task is not JSON: ${text}`, remedy, cause });
  }
}

/** A parser for a flag with a bounded integer. */
export function wholeNumber(options: { readonly min: number; readonly max?: number }): (text: string) => number {
  const { min, max = Number.MAX_SAFE_INTEGER } = options;
  return (text) => {
    const value = Number(text);
    if (text.trim() === '' || !Number.isInteger(value) || value < min || value > max) {
      throw new InvalidArgumentError(
        `"${text}" is not a whole number of at least ${min}${max === Number.MAX_SAFE_INTEGER ? '' : ` and at most ${max}`}.`,
      );
    }
    return value;
  };
}

/** A parser for `--budget`: `money=20,hours=2`. */
export function budgetOf(text: string): BudgetConfig {
  const parts = text.split(',').map((part) => /^(money|tokens|hours)=(\S+)$/.exec(part.trim()));
  const limits = parts.flatMap((part) => (part === null ? [] : [[part[1] ?? '', Number(part[2])] as const]));
  if (limits.length < parts.length || limits.some(([, value]) => !(value > 0 && Number.isFinite(value)))) {
    throw new InvalidArgumentError(`"${text}" is not a budget such as money=20,tokens=5000000,hours=2.`);
  }
  return Object.fromEntries(limits);
}

/** A parser for a flag with a finite number. */
export function finiteNumber(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value)) throw new InvalidArgumentError(`"${text}" is not a number.`);
  return value;
}

/** A parser for a flag with a share, from 0 to 1. */
export function shareOf(text: string): number {
  const value = finiteNumber(text);
  if (value < 0 || value > 1) throw new InvalidArgumentError(`"${text}" is not a share from 0 to 1.`);
  return value;
}

/** The former name of `--processes`. */
export function formerWorkers(): Option {
  return new Option('--workers <n>').hideHelp().argParser(() => {
    throw new InvalidArgumentError('The flag is now --processes.');
  });
}
