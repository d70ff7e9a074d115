import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { AgentLightningError, type JsonObject } from '@agentlightning/core';
import { errorMessage } from '@agentlightning/core/internal';
import { failWith, respondWith, ScriptedModel, type ScriptedStep } from '@agentlightning/core/testing';
import { z } from 'zod';

/** An answer of a scripted model: a text, tool calls with an optional text, or an HTTP error. */
export type ScriptedAnswer =
  | string
  | {
      readonly content?: string;
      readonly toolCalls: readonly { readonly name: string; readonly arguments: JsonObject }[];
    }
  | {
      readonly status: number;
      readonly message?: string;
      /** Further headers of the response, such as `retry-after`. */
      readonly headers?: Readonly<Record<string, string>>;
    };

const answerSchema = z.union(
  [
    z.string(),
    z.strictObject({
      content: z.string().exactOptional(),
      toolCalls: z.array(z.strictObject({ name: z.string().min(1), arguments: z.record(z.string(), z.json()) })).min(1),
    }),
    z.strictObject({
      status: z.int().min(400).max(599),
      message: z.string().exactOptional(),
      headers: z.record(z.string(), z.string()).exactOptional(),
    }),
  ],
  { error: 'must be a text, { content?, toolCalls: [{ name, arguments }] } or { status, message?, headers? }' },
);

/**
 * Reads a script: a JSON list of answers.
 *
 * @throws AgentLightningError CONFIG when it cannot be read or an answer is wrong
 */
export async function readScript(file: string): Promise<readonly ScriptedAnswer[]> {
  const full = path.resolve(file);
  try {
    return checkScript(JSON.parse(await readFile(full, 'utf8')));
  } catch (cause) {
    if (AgentLightningError.isInstance(cause)) throw cause;
    const reason = errorMessage(cause);
    throw scriptError(`the script ${full} cannot be read: ${reason}`, cause);
  }
}

function checkScript(script: unknown): readonly ScriptedAnswer[] {
  const parsed = z.array(answerSchema).safeParse(script);
  if (parsed.success) return parsed.data as readonly ScriptedAnswer[];
  throw scriptError(`invalid script: ${z.prettifyError(parsed.error)}`, parsed.error);
}

function scriptError(message: string, cause: unknown): AgentLightningError {
  const remedy =
    'Write a JSON list of answers: ["a text", { "toolCalls": [{ "name": "add", "arguments": { "a": 2 } }] }].';
  return new AgentLightningError({ code: 'CONFIG', message, remedy, cause });
}

/** The model name of scripted endpoints. */
export const scriptedModelName = 'scripted-model';

/** A running scripted model. */
export interface ScriptedEndpoint {
  readonly baseUrl: string;
  /** Stops it; resolves with how the calls differ from the script, null when they do not. */
  readonly finish: () => Promise<string | null>;
}

/**
 * Serves a script as an OpenAI-compatible API on a free port of this machine.
 *
 * @throws AgentLightningError CONFIG for an invalid answer
 */
export async function serveScript(script: readonly ScriptedAnswer[]): Promise<ScriptedEndpoint> {
  const model = await ScriptedModel.start(checkScript(script).map(stepOf));
  const finish = async (): Promise<string | null> => {
    try {
      await model.close();
      return null;
    } catch (error) {
      if (AgentLightningError.isInstance(error)) return error.message.replace(/^\[\w+\] /, '');
      throw error;
    }
  };
  return { baseUrl: model.baseUrl, finish };
}

function stepOf(answer: ScriptedAnswer): ScriptedStep {
  if (typeof answer === 'string') return respondWith(answer);
  if ('status' in answer) {
    const { status, ...others } = answer;
    return failWith(status, others);
  }
  const { content, toolCalls } = answer;
  return { type: 'response', ...(content === undefined ? {} : { content }), toolCalls };
}
