import type { Attributes, AttributeValue, JsonObject } from '@agentlightning/core';
import { modelRequestAttributes, modelResponseAttributes } from '@agentlightning/core/adapter';
import {
  fieldsOf,
  genAiAttributes,
  isJsonObject,
  modelCallAttributes,
  withoutAttributes,
} from '@agentlightning/core/internal';
import type { FrameworkTrace, SpanData, SpanError } from './framework.ts';
import type { HttpExchange } from './http-exchange.ts';

/** Attributes specific to this framework. */
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

/** The attributes that follow from a span's data. */
export function dataAttributes(data: SpanData): Attributes {
  switch (data.type) {
    case 'agent':
      return plainAttributes({
        [names.tools]: data.tools,
        [names.handOffs]: data.handoffs,
        [names.outputType]: data.output_type,
      });
    case 'turn':
      return plainAttributes({ [names.turn]: data.turn });
    case 'function':
      return plainAttributes({
        [genAiAttributes.toolCallArguments]: asText(data.input),
        [genAiAttributes.toolCallResult]: asText(data.output),
        [names.mcp]: asText(data.mcp_data),
      });
    case 'handoff':
      return plainAttributes({ [names.fromAgent]: data.from_agent, [names.toAgent]: data.to_agent });
    case 'guardrail':
      return plainAttributes({ [names.isTriggered]: data.triggered });
    case 'mcp_tools':
      return plainAttributes({ [names.tools]: data.result });
    case 'custom':
      return plainAttributes({ [names.data]: asText(data.data) });
    default:
      return {};
  }
}

/** The attributes of the run of an agent. */
export function traceAttributes(trace: FrameworkTrace): Attributes {
  return plainAttributes({
    [names.traceId]: trace.traceId,
    [names.groupId]: trace.groupId,
    [names.workflow]: trace.name,
  });
}

/** The outcome of a model call. */
export interface ModelCallEnd {
  readonly attributes: Attributes;
  /** The response body; null without a response. */
  readonly response: JsonObject | null;
  /** Whether the response is incomplete. */
  readonly isPartial: boolean;
  /** The error that the response reports; null without an error. */
  readonly failure: string | null;
}

/** Reads a model call from the framework's span, or, if that has no data, from the HTTP exchange. */
export function modelCallEnd(data: SpanData, exchange: HttpExchange): ModelCallEnd {
  const shown = firstObject(data.output) ?? objectOf(data._response);
  const read = shown === null ? exchange.readResponse() : null;
  const response = shown ?? read?.body ?? null;
  const request = exchange.request ?? shownRequest(data);
  const isPartial = read !== null && !read.isWhole;
  const attributes = {
    ...(request === null ? {} : modelRequestAttributes(request)),
    ...(response === null ? {} : modelResponseAttributes(response)),
    ...(isPartial ? { [modelCallAttributes.isPartial]: true } : {}),
  };
  return {
    attributes: isSensitiveDataOff(data) ? withoutAttributes(attributes, contentNames) : attributes,
    response,
    isPartial,
    failure: read?.failure ?? null,
  };
}

/** The message of a framework error: a cause, if present, is more specific than the error's own message. */
export function messageOf(error: SpanError | null): string | null {
  if (error === null) return null;
  const { message, data } = error;
  const cause = data?.error;
  return typeof cause === 'string' && cause !== '' ? `${message}: ${cause}` : message;
}

/** With `traceIncludeSensitiveData: false` the framework's spans have no input. */
function isSensitiveDataOff(data: SpanData): boolean {
  return data.input === undefined && data._input === undefined;
}

const contentNames: readonly string[] = [
  genAiAttributes.inputMessages,
  genAiAttributes.outputMessages,
  genAiAttributes.toolDefinitions,
];

/** For models that do not use HTTP in this process. */
function shownRequest(data: SpanData): JsonObject | null {
  const model = typeof data.model === 'string' ? { model: data.model } : {};
  if (Array.isArray(data.input)) return { ...model, messages: data.input };
  if (data._input !== undefined) return objectOf({ ...model, input: data._input });
  return objectOf(model);
}

function firstObject(value: unknown): JsonObject | null {
  return Array.isArray(value) ? objectOf(value[0]) : null;
}

/** The framework's data is parsed JSON, or serialisable as JSON. */
function objectOf(value: unknown): JsonObject | null {
  const object = fieldsOf(value) as JsonObject;
  return object === value && isJsonObject(object) ? object : null;
}

function asText(value: unknown): string | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function plainAttributes(fields: Readonly<Record<string, unknown>>): Attributes {
  const attributes: Record<string, AttributeValue> = {};
  for (const [name, value] of Object.entries(fields)) {
    const isPlain = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
    if (isPlain) attributes[name] = value;
    else if (Array.isArray(value) && value.every((item) => typeof item === 'string')) attributes[name] = value;
  }
  return attributes;
}
