import type { Run } from '@agentlightning/core';
import { parse } from '@agentlightning/core/internal';
import { type RunKind, type RunProgress, unfinishedRunStatuses } from '@agentlightning/core/protocol';
import type { RunStatus } from '@agentlightning/core/store';
import { z } from 'zod';

/** Which runs a list has. */
export interface RunFilter {
  readonly limit: number;
  /** Part of the name, the id or a tag, in any case; null for any. */
  readonly text: string | null;
  /** Null for all kinds. */
  readonly kinds: readonly RunKind[] | null;
  readonly statuses: readonly RunStatus[] | null;
  readonly tag: string | null;
}

const kinds: z.ZodType<RunKind> = z.enum(['training', 'prompt-search', 'evaluation', 'dev', 'deployment', 'dataset']);

const statuses: z.ZodType<RunStatus> = z.enum([
  ...unfinishedRunStatuses,
  'finished',
  'failed',
  'stopped',
] as RunStatus[]);

/** Values separated by commas. */
function listOf<TValue>(item: z.ZodType<TValue>) {
  return z
    .string()
    .transform((text): unknown[] => text.split(','))
    .pipe(z.array(item))
    .optional();
}

const query = z.strictObject({
  limit: z.coerce.number().int().min(1).max(500).default(100),
  text: z.string().optional(),
  kind: listOf(kinds),
  status: listOf(statuses),
  tag: z.string().optional(),
});

/** Reads the filter of a request. @throws ValidationError for unknown fields and values */
export function readRunFilter(values: Readonly<Record<string, string>>): RunFilter {
  const { limit, text, kind, status, tag } = parse(query, values, 'Query');
  return { limit, text: text ?? null, kinds: kind ?? null, statuses: status ?? null, tag: tag ?? null };
}

/** Whether a run matches a filter. */
export function runMatches({ runId, name, status }: Run, { kind, tags }: RunProgress, filter: RunFilter): boolean {
  const { text, kinds, statuses, tag } = filter;
  return (
    (kinds === null || kinds.includes(kind)) &&
    (statuses === null || statuses.includes(status)) &&
    (tag === null || tags.includes(tag)) &&
    (text === null || [name, runId, ...tags].some((each) => each.toLowerCase().includes(text.toLowerCase())))
  );
}
