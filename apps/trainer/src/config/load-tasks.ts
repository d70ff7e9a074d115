import { readFile } from 'node:fs/promises';
import { AgentLightningError, type JsonValue } from '@agentlightning/core';
import type { z } from 'zod';
import { ConfigProblems } from './config-problems.ts';
import { findNonJson } from './find-non-json.ts';

/**
 * Reads tasks from a JSON-lines file or takes them from a list, and checks each.
 *
 * @param source - an absolute path, or the tasks themselves
 * @param schema - the shape of a task; null accepts any JSON object
 * @throws AgentLightningError TASK_FILE that names file, line and field of the first {@link maxReported} invalid tasks. Values that
 *   are not JSON are invalid, since the store could not return them unchanged
 */
export async function loadTasks(
  source: string | readonly unknown[],
  schema: z.ZodType | null,
): Promise<readonly JsonValue[]> {
  if (typeof source !== 'string') {
    return checkAll(source, (task, index) => [checkTask(task, { where: `task ${index}`, schema })]);
  }
  // Some editors write a byte order mark.
  const lines = (await readTaskFile(source)).replace(/^\uFEFF/, '').split('\n');
  const tasks = checkAll(lines, (line, index) => {
    if (line.trim() === '') return [];
    const where = `${source}:${index + 1}`;
    return [checkTask(parseLine(line, where), { where, schema })];
  });
  if (tasks.length === 0) throw taskError(source, 'has no task');
  return tasks;
}

/** Maximum number of reported invalid tasks per source. */
const maxReported = 20;

function checkAll<TItem>(
  items: readonly TItem[],
  check: (item: TItem, index: number) => readonly JsonValue[],
): readonly JsonValue[] {
  const problems = new ConfigProblems();
  const checked: JsonValue[] = [];
  for (const [index, item] of items.entries()) {
    for (const task of problems.check(() => check(item, index)) ?? []) checked.push(task);
    if (problems.count >= maxReported) break;
  }
  problems.throwIfAny();
  return checked;
}

async function readTaskFile(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new AgentLightningError({
      code: 'TASK_FILE',
      message: `${file} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`,
      remedy: 'Check the path of the task file; it starts from the folder of the configuration.',
      cause,
    });
  }
}

function parseLine(line: string, where: string): unknown {
  try {
    return JSON.parse(line);
  } catch (cause) {
    throw new AgentLightningError({
      code: 'TASK_FILE',
      // The position in the line only: the file's line is known.
      message: `${where}: not JSON: ${String(cause instanceof Error ? cause.message : cause).replace(/ \(line 1 .*\)$/, '')}`,
      cause,
    });
  }
}

function checkTask(task: unknown, options: { readonly where: string; readonly schema: z.ZodType | null }): JsonValue {
  const { where, schema } = options;
  if (schema === null) {
    if (typeof task === 'object' && task !== null && !Array.isArray(task)) return asJson(task, where);
    throw taskError(where, 'a task must be a JSON object');
  }
  const result = schema.safeParse(task);
  if (result.success) return asJson(result.data, where);
  const issues = result.error.issues.map(({ path, message }) => `field "${path.join('.')}": ${message}`);
  throw taskError(where, issues.join(', '));
}

/** Tasks are stored as JSON, so agents would receive other values unfaithfully. */
function asJson(task: unknown, where: string): JsonValue {
  const problem = findNonJson(task);
  if (problem === null) return task as JsonValue;
  throw new AgentLightningError({
    code: 'TASK_FILE',
    message: `${where}: ${problem}, and a task must be JSON`,
    remedy: 'Use JSON values, such as the text of a date, and convert them in the agent.',
  });
}

function taskError(where: string, problem: string): AgentLightningError {
  return new AgentLightningError({ code: 'TASK_FILE', message: `${where}: ${problem}` });
}
