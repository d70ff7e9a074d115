import type { Attributes, AttributeValue, JsonObject } from '@agentlightning/core';
import {
  fieldsOf,
  modelAnswerAttributes,
  modelRequestAttributes,
  withoutAttributes,
} from '@agentlightning/core/adapter';
import { isJsonObject } from '@agentlightning/core/internal';
import { genAiAttributes, modelCallAttributes } from '@agentlightning/core/spans';
import type { FrameworkTrace, SpanData, SpanError } from './framework.ts';
import type { HttpExchange } from './http-exchange.ts';

/** Names of what only this framework has. */
export const openAIAgentsAttributes = {
  traceId: 'openai_agents.trace_id',
  groupId: 'openai_agents.group_id',
  workflow: 'openai_agents.workflow',
  turn: 'openai_agents.turn',
  tools: 'openai_agents.tools',
  handOffs: 'openai_agents.handoffs',
  outputType: 'openai_agents.output_type',
  fromAgent: 'openai_agents.handoff.from',
  toAgent: 'openai_agents.handoff.to',
  isTriggered: 'openai_agents.guardrail.triggered',
  mcp: 'openai_agents.mcp_data',
  data: 'openai_agents.data',
} as const;

const names = openAIAgentsAttributes;

/** What is known of a step from its kind of span alone. */
export function dataAttributes(data: SpanData): Attributes {
  switch (data.type) {
    case 'agent':
      return known({
        [names.tools]: data.tools,
        [names.handOffs]: data.handoffs,
        [names.outputType]: data.output_type,
      });
    case 'turn':
      return known({ [names.turn]: data.turn });
    case 'function':
      return known({
        [genAiAttributes.toolCallArguments]: asText(data.input),
        [genAiAttributes.toolCallResult]: asText(data.output),
        [names.mcp]: asText(data.mcp_data),
      });
    case 'handoff':
      return known({ [names.fromAgent]: data.from_agent, [names.toAgent]: data.to_agent });
    case 'guardrail':
      return known({ [names.isTriggered]: data.triggered });
    case 'mcp_tools':
      return known({ [names.tools]: data.result });
    case 'custom':
      return known({ [names.data]: asText(data.data) });
    default:
      return {};
  }
}

/** Which run an agent is part of. */
export function traceAttributes(trace: FrameworkTrace): Attributes {
  return known({ [names.traceId]: trace.traceId, [names.groupId]: trace.groupId, [names.workflow]: trace.name });
}

/** What a model call came to. */
export interface ModelCallEnd {
  readonly attributes: Attributes;
  /** The answer's body; null when there is none. */
  readonly answer: JsonObject | null;
  /** Whether something of an answer came, but not all of it. */
  readonly isPartial: boolean;
  /** What the answer itself says went wrong; null when it says nothing. */
  readonly failure: string | null;
}

/** A model call from what the framework shows of it, and where it shows nothing, from what went over the wire. */
export function modelCallEnd(data: SpanData, exchange: HttpExchange): ModelCallEnd {
  const shown = firstObject(data.output) ?? objectOf(data._response);
  const read = shown === null ? exchange.readAnswer() : null;
  const answer = shown ?? read?.body ?? null;
  const request = exchange.request ?? shownRequest(data);
  const isPartial = read !== null && !read.isWhole;
  const attributes = {
    ...(request === null ? {} : modelRequestAttributes(request)),
    ...(answer === null ? {} : modelAnswerAttributes(answer)),
    ...(isPartial ? { [modelCallAttributes.isPartial]: true } : {}),
  };
  return {
    attributes: isSensitiveDataOff(data) ? withoutAttributes(attributes, contentNames) : attributes,
    answer,
    isPartial,
    failure: read?.failure ?? null,
  };
}

/** What an error of the framework says, if there is one: its own message is often a general one, with the cause beside it. */
export function messageOf(error: SpanError | null): string | null {
  if (error === null) return null;
  const { message, data } = error;
  const cause = data?.error;
  return typeof cause === 'string' && cause !== '' ? `${message}: ${cause}` : message;
}

/** With `traceIncludeSensitiveData: false` the framework shows no input. */
function isSensitiveDataOff(data: SpanData): boolean {
  return data.input === undefined && data._input === undefined;
}

const contentNames: readonly string[] = [
  genAiAttributes.inputMessages,
  genAiAttributes.outputMessages,
  genAiAttributes.toolDefinitions,
];

/** For models that are not asked over HTTP in this process. */
function shownRequest(data: SpanData): JsonObject | null {
  const model = typeof data.model === 'string' ? { model: data.model } : {};
  if (Array.isArray(data.input)) return { ...model, messages: data.input };
  if (data._input !== undefined) return objectOf({ ...model, input: data._input });
  return objectOf(model);
}

function firstObject(value: unknown): JsonObject | null {
  return Array.isArray(value) ? objectOf(value[0]) : null;
}

/** The framework's data are what came as JSON, or will go as JSON. */
function objectOf(value: unknown): JsonObject | null {
  const object = fieldsOf(value) as JsonObject;
  return object === value && isJsonObject(object) ? object : null;
}

function asText(value: unknown): string | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function known(fields: Readonly<Record<string, unknown>>): Attributes {
  const attributes: Record<string, AttributeValue> = {};
  for (const [name, value] of Object.entries(fields)) {
    const isPlain = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
    if (isPlain) attributes[name] = value;
    else if (Array.isArray(value) && value.every((item) => typeof item === 'string')) attributes[name] = value;
  }
  return attributes;
}
