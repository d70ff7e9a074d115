import { readFile } from 'node:fs/promises';
import { AgentLightningError, type JsonValue } from '@agentlightning/core';
import type { z } from 'zod';
import { notJson } from './not-json.ts';

/**
 * Reads tasks from a JSON-lines file or takes them from a list, and checks each.
 *
 * @param source - an absolute path, or the tasks themselves
 * @param schema - the shape of a task; null accepts any JSON object
 * @throws AgentLightningError TASK_FILE that names file, line and field; also of what the store, which holds JSON, would
 *   give to the agent as something else
 */
export async function loadTasks(
  source: string | readonly unknown[],
  schema: z.ZodType | null,
): Promise<readonly JsonValue[]> {
  if (typeof source !== 'string') {
    return source.map((task, index) => checkTask(task, { where: `task ${index}`, schema }));
  }
  // Editors of Windows begin a file with a mark that is no part of its text.
  const lines = (await readTaskFile(source)).replace(/^\uFEFF/, '').split('\n');
  const tasks = lines.flatMap((line, index) => {
    if (line.trim() === '') return [];
    const where = `${source}:${index + 1}`;
    return [checkTask(parseLine(line, where), { where, schema })];
  });
  if (tasks.length === 0) throw taskError(source, 'has no task');
  return tasks;
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
      message: `${where}: not JSON: ${cause instanceof Error ? cause.message : String(cause)}`,
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
  const issue = result.error.issues[0];
  throw taskError(where, `field "${issue?.path.join('.') ?? ''}": ${issue?.message ?? 'invalid'}`);
}

/** Tasks go to agents by way of the store: what is no JSON would not be what it was. */
function asJson(task: unknown, where: string): JsonValue {
  const problem = notJson(task);
  if (problem === null) return task as JsonValue;
  throw new AgentLightningError({
    code: 'TASK_FILE',
    message: `${where}: ${problem}, and a task must be JSON`,
    remedy: 'Give what JSON can hold, such as the text of a date, and let the agent make the rest of it.',
  });
}

function taskError(where: string, problem: string): AgentLightningError {
  return new AgentLightningError({ code: 'TASK_FILE', message: `${where}: ${problem}` });
}
