import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { FineTuneExample } from '@agentlightning/algorithms';
import { AgentLightningError, type JsonValue } from '@agentlightning/core';
import { errorMessage } from '@agentlightning/core/internal';
import { z } from 'zod';

/** A conversation to learn from, with its reward. */
export interface DataExample {
  readonly conversation: FineTuneExample;
  readonly reward: number;
}

/** The examples of one prompt. */
export interface DataGroup {
  /** The messages before the responses, as the task of the group. */
  readonly input: JsonValue;
  /** Number of messages before the responses. */
  readonly promptLength: number;
  readonly examples: readonly DataExample[];
}

/** The content of a file of examples. */
export interface DataFile {
  readonly groups: readonly DataGroup[];
  /** Of the bytes of the file. */
  readonly digest: string;
}

const message = z.record(z.string(), z.json());
const messages = z.array(message).min(1);
const tools = z.json().optional();

/** Lines of `agl dataset`, in the formats of OpenAI and TRL. */
const lineSchema = z.union([
  z.strictObject({ messages, tools }),
  z.strictObject({
    input: z.strictObject({ messages, tools, parallel_tool_calls: z.boolean().optional() }),
    preferred_output: messages,
    non_preferred_output: messages,
  }),
  z.strictObject({ prompt: messages, chosen: messages, rejected: messages, tools }),
  z.strictObject({ prompt: messages, completion: messages, label: z.boolean().optional(), tools }),
]);

/** Maximum number of reported invalid lines. */
const maxReported = 20;

/**
 * Reads a JSON-lines file of examples: conversations, preference pairs, or responses with a verdict.
 *
 * @throws AgentLightningError TASK_FILE that names file and line of the first {@link maxReported} invalid lines
 */
export async function readDataFile(file: string): Promise<DataFile> {
  return parseDataLines(await readText(file), file);
}

/**
 * The examples in the text of a file or of a data set.
 *
 * @param source - its name, for errors
 * @throws AgentLightningError TASK_FILE as {@link readDataFile}
 */
export function parseDataLines(text: string, source: string): DataFile {
  const problems: string[] = [];
  const groups = text.split('\n').flatMap((line, index): readonly DataGroup[] => {
    if (line.trim() === '' || problems.length >= maxReported) return [];
    const group = groupOf(line);
    if (typeof group !== 'string') return [group];
    problems.push(`${source}:${index + 1}: ${group}`);
    return [];
  });
  if (problems.length > 0) throw dataError(problems.join('\n'));
  if (groups.length === 0) throw dataError(`${source} has no example`);
  return { groups, digest: createHash('sha256').update(text).digest('hex') };
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new AgentLightningError({
      code: 'TASK_FILE',
      message: `${file} cannot be read: ${errorMessage(cause)}`,
      remedy: 'Check `data`; its path starts from the folder of the configuration.',
      cause,
    });
  }
}

/** The group of a line, or what is wrong with it. */
function groupOf(line: string): DataGroup | string {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return 'not JSON';
  }
  const parsed = lineSchema.safeParse(value);
  if (!parsed.success) {
    return 'not an example: expected messages; input, preferred_output and non_preferred_output; or prompt with chosen and rejected, or with completion';
  }
  const group = toGroup(parsed.data);
  const isEmpty = group.examples.some(({ conversation }) => !conversation.messages.some(isLearned));
  return isEmpty ? 'there is no assistant message to learn' : group;
}

function toGroup(line: z.infer<typeof lineSchema>): DataGroup {
  if ('messages' in line) {
    const first = line.messages.findIndex(isLearned);
    const conversation = { messages: line.messages, ...(line.tools === undefined ? {} : { tools: line.tools }) };
    return groupWith(line.messages.slice(0, first), [{ conversation, reward: 1 }]);
  }
  if ('input' in line) {
    const { input, preferred_output: better, non_preferred_output: worse } = line;
    return pairOf(input.messages, { better, worse, tools: input.tools });
  }
  if ('chosen' in line) return pairOf(line.prompt, { better: line.chosen, worse: line.rejected, tools: line.tools });
  const { prompt, completion, label = true, tools: offered } = line;
  return groupWith(prompt, [{ conversation: conversationOf(prompt, completion, offered), reward: label ? 1 : 0 }]);
}

type Messages = z.infer<typeof messages>;
type Tools = z.infer<typeof tools>;

function pairOf(
  prompt: Messages,
  { better, worse, tools: offered }: { readonly better: Messages; readonly worse: Messages; readonly tools: Tools },
): DataGroup {
  return groupWith(prompt, [
    { conversation: conversationOf(prompt, better, offered), reward: 1 },
    { conversation: conversationOf(prompt, worse, offered), reward: 0 },
  ]);
}

/** Assistant messages of the prompt were not generated by the policy. */
function conversationOf(prompt: Messages, responses: Messages, offered: Tools): FineTuneExample {
  const given = prompt.map((each) => (each['role'] === 'assistant' ? { ...each, weight: 0 } : each));
  return { messages: [...given, ...responses], ...(offered === undefined ? {} : { tools: offered }) };
}

function groupWith(prompt: Messages, examples: readonly DataExample[]): DataGroup {
  return { input: { messages: prompt }, promptLength: prompt.length, examples };
}

function isLearned(each: Readonly<Record<string, unknown>>): boolean {
  return each['role'] === 'assistant' && each['weight'] !== 0;
}

function dataError(text: string): AgentLightningError {
  return new AgentLightningError({
    code: 'TASK_FILE',
    message: text,
    remedy: 'Use the formats that `agl dataset` writes.',
  });
}
