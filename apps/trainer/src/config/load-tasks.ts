import { readFile } from 'node:fs/promises';
import { AgentLightningError, type JsonValue } from '@agentlightning/core';
import {
  decodeJsonText,
  errorMessage,
  findInexactNumber,
  type TaskSchema,
  validateTask,
} from '@agentlightning/core/internal';
import { ConfigProblems } from './config-problems.ts';
import { findNonJson } from './find-non-json.ts';

/**
 * Reads tasks from a file of JSON lines, or of one JSON array, or takes them from a list, and checks each.
 *
 * @param source - an absolute path, or the tasks themselves
 * @param schema - the shape of a task; null accepts any JSON object
 * @throws AgentLightningError TASK_FILE that names file, line and field of the first {@link maxReported} invalid tasks. Values that
 *   are not JSON are invalid, since the store could not return them unchanged
 */
export async function loadTasks(
  source: string | readonly unknown[],
  schema: TaskSchema | null,
): Promise<readonly JsonValue[]> {
  if (typeof source !== 'string') {
    return await checkAll(source, async (task, index) => [await checkTask(task, { where: `task ${index}`, schema })]);
  }
  const text = await readTaskFile(source);
  const list = listOf(text, source);
  const tasks =
    list !== null
      ? await checkAll(list, async (task, index) => [
          await checkTask(task, { where: `${source}: task ${index}`, schema }),
        ])
      : await checkAll(text.split('\n'), async (line, index) => {
          if (line.trim() === '') return [];
          const where = `${source}:${index + 1}`;
          return [await checkTask(parseText(line, where), { where, schema })];
        });
  if (tasks.length === 0) throw taskError(source, 'has no task');
  return tasks;
}

/** Maximum number of reported invalid tasks per source. */
const maxReported = 20;

async function checkAll<TItem>(
  items: readonly TItem[],
  check: (item: TItem, index: number) => Promise<readonly JsonValue[]>,
): Promise<readonly JsonValue[]> {
  const problems = new ConfigProblems();
  const checked: JsonValue[] = [];
  for (const [index, item] of items.entries()) {
    for (const task of (await problems.checkAsync(() => check(item, index))) ?? []) checked.push(task);
    if (problems.count >= maxReported) break;
  }
  problems.throwIfAny();
  return checked;
}

async function readTaskFile(file: string): Promise<string> {
  try {
    const text = decodeJsonText(await readFile(file));
    if (text !== null) return text;
    throw taskError(file, 'is neither UTF-8 nor UTF-16 with a byte order mark');
  } catch (cause) {
    if (AgentLightningError.isInstance(cause)) throw cause;
    throw new AgentLightningError({
      code: 'TASK_FILE',
      message: `${file} cannot be read: ${errorMessage(cause)}`,
      remedy: 'Check the path of the task file; it starts from the folder of the configuration.',
      cause,
    });
  }
}

/** The tasks of a file that is one JSON array; null for JSON lines. */
function listOf(text: string, file: string): readonly unknown[] | null {
  const [first = ''] = text.trimStart().split('\n', 1);
  // The lines of an array are not JSON; a line that is an array is an invalid task.
  if (!first.startsWith('[') || (isJson(first) && text.trim() !== first.trim())) return null;
  const tasks = parseText(text, file);
  return Array.isArray(tasks) ? tasks : null;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function parseText(line: string, where: string): unknown {
  const inexact = inexactNumber(line);
  if (inexact !== null) {
    const lines = line.slice(0, line.indexOf(inexact)).split('\n').length;
    throw new AgentLightningError({
      code: 'TASK_FILE',
      message: `${where}${line.includes('\n') ? `:${lines}` : ''}: the number ${inexact} is beyond those that JavaScript represents, so agents would receive another one`,
      remedy: `Write it as text: "${inexact}".`,
    });
  }
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

function inexactNumber(text: string): string | null {
  try {
    return findInexactNumber(text);
  } catch {
    // Reported by the caller, which parses the text again.
    return null;
  }
}

async function checkTask(
  task: unknown,
  options: { readonly where: string; readonly schema: TaskSchema | null },
): Promise<JsonValue> {
  const { where, schema } = options;
  if (schema === null) {
    if (typeof task === 'object' && task !== null && !Array.isArray(task)) return asJson(task, where);
    throw taskError(where, 'a task must be a JSON object');
  }
  const checked = await validateTask(task, schema);
  if ('problem' in checked) throw taskError(where, checked.problem);
  return asJson(checked.task, where);
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
