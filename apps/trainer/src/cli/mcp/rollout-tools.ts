import type { RolloutFilter } from '@agentlightning/dashboard/internal';
import { terminalText } from '@agentlightning/trace';
import { z } from 'zod';
import { rolloutText } from '../../report/rollout-text.ts';
import { readShownRollout } from '../inspect/show-rollout.ts';
import type { StoreReader } from './store-reader.ts';
import type { Finding } from './tool-result.ts';

const page = z.object({
  items: z.array(z.record(z.string(), z.unknown())),
  nextCursor: z.string().nullable(),
  total: z.number(),
  unindexed: z.number(),
});

const detail = z.looseObject({
  rollout: z.record(z.string(), z.unknown()),
  attempts: z.array(z.looseObject({ attemptId: z.string(), status: z.string(), metadata: z.unknown() })),
});

/** Maximum number of lines that the text of an attempt repeats from the error output of its process. */
const lastLines = 10;

/** `list_rollouts` */
export async function findRollouts(reader: StoreReader, filter: RolloutFilter): Promise<Finding> {
  const { status, mode, ...rest } = filter;
  const data = await reader.read(page, '/api/rollouts', { ...rest, status: status?.join(), mode: mode?.join() });
  const notes = [
    ...(data.nextCursor === null ? [] : [`${data.total} rollouts match; pass nextCursor as cursor for the next page.`]),
    ...(data.unindexed === 0 ? [] : [`The text of ${data.unindexed} rollouts is not indexed yet; repeat the call.`]),
  ];
  return { data, leftOut: notes.length === 0 ? null : notes.join(' ') };
}

/** Parameters of `get_rollout`. */
export interface RolloutQuestion {
  readonly rollout: string;
  readonly attempt?: string | undefined;
}

/** `get_rollout` */
export async function findRollout(reader: StoreReader, { rollout, attempt }: RolloutQuestion): Promise<Finding> {
  const shown = await readShownRollout(await reader.store(), rollout, attempt ?? 'latest');
  const data = await reader.read(detail, `/api/rollouts/${encodeURIComponent(rollout)}`, { attempt });
  const text = [...data.attempts.flatMap(processLines), rolloutText(shown, { isColoured: false })].join('\n');
  return { data: withoutTrace(data), text };
}

/** The trace is in the text, as a tree. */
function withoutTrace({ trace: _, ...data }: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return data;
}

const endedProcess = z.object({
  process: z.object({ exit_code: z.number().nullable(), signal: z.string().nullable(), stderr: z.array(z.string()) }),
});

/** Exit code or signal and error output of the process of a failed attempt. */
function processLines(attempt: z.infer<typeof detail>['attempts'][number]): readonly string[] {
  const { attemptId, status, metadata } = attempt;
  const { data } = endedProcess.safeParse(metadata);
  if (data === undefined) return [];
  const { exit_code: exitCode, signal, stderr } = data.process;
  const how = signal === null ? `exit code ${exitCode}` : `signal ${signal}`;
  const lines = stderr.slice(-lastLines).map((line) => `  stderr: ${line}`);
  return [`${attemptId} ${status}, its process ended with ${how}`, ...lines].map(terminalText);
}
