import { currentRollout, type JsonObject, withRollout } from '@agentlightning/core';
import { type Method, type RedirectOptions, tapGenerator } from '@agentlightning/core/adapter';
import {
  abortControllerWithin,
  type ConversationStart,
  type Fields,
  fieldsOf,
  isAsyncIterable,
  quietly,
  tapIterable,
  withMembers,
} from '@agentlightning/core/internal';
import { gatewayOption } from './gateway-environment.ts';
import { QueryRecorder } from './query-recorder.ts';

/** The function `query` of the Claude Agent SDK, in any version. */
export type QueryFunction = (input: never) => AsyncGenerator<unknown, void>;

type Query = (input: {
  readonly prompt: unknown;
  readonly options?: object;
}) => AsyncGenerator<JsonObject, void, undefined>;

/** Options of {@link traceQuery}. */
export interface TraceQueryOptions extends Pick<RedirectOptions, 'redirect'> {
  /** Name of the agent of these queries. @default the option `agent` of the query, or `claude` */
  readonly agentName?: string;
}

/**
 * Wraps `query` of the Claude Agent SDK, so that its agents are traceable and trainable.
 *
 * Outside a rollout nothing changes. Within one, agents, subagents, model calls and tool calls are recorded, and the
 * Claude Code process of a query sends its model calls to the rollout's endpoint, if it has one.
 *
 * @example
 * ```ts
 * const query = traceQuery(sdk.query);
 * for await (const message of query({ prompt: 'Fix the failing test.' })) print(message);
 * ```
 */
export function traceQuery<TQuery extends QueryFunction>(query: TQuery, options: TraceQueryOptions = {}): TQuery {
  const { redirect = true } = options;
  const run = query as unknown as Query;
  const traced: Query = (input) => {
    const context = currentRollout();
    if (context === null) return run(input);
    const given: Fields = fieldsOf(input.options);
    const recorder = new QueryRecorder(startOf(input.prompt, given, options.agentName));
    const inside = recorder.context ?? context;
    const abortController = abortControllerWithin(context, fieldsOf(given.abortController)['signal']);
    const traceOptions = {
      abortController,
      // The events and texts that only the recorder requires are not returned to the caller.
      includePartialMessages: true,
      forwardSubagentText: true,
      mcpServers: tracedServers(given.mcpServers, (id, runTool) => recorder.withinTool(id, runTool)),
      ...(redirect ? gatewayOption(given.env, inside) : {}),
    };
    const addPrompt = (message: unknown): void =>
      quietly('Recording a prompt', () => recorder.addPrompt(fieldsOf(message) as JsonObject));
    const prompt = isAsyncIterable(input.prompt) ? tapIterable(input.prompt, addPrompt) : input.prompt;
    const end = (error?: unknown, isCancelled = false): void =>
      quietly('Recording a query', () => recorder.end(error, isCancelled || abortController.signal.aborted));
    return tapGenerator(
      withRollout(inside, () => run({ prompt, options: { ...input.options, ...traceOptions } })),
      {
        take: (message: JsonObject) => quietly('Recording a message', () => recorder.observe(message)),
        failed: end,
        cancelled: () => end(undefined, true),
        ended: end,
        isHidden: (message: JsonObject) => isHidden(message, given),
      },
    );
  };
  return traced as unknown as TQuery;
}

function startOf(prompt: unknown, given: Fields, agentName: string | undefined): ConversationStart {
  const { model, systemPrompt, agent } = given;
  return {
    agentName: agentName ?? String(agent ?? 'claude'),
    model: typeof model === 'string' ? model : 'default',
    messages: [
      ...(typeof systemPrompt === 'string' ? [{ role: 'system', content: systemPrompt }] : []),
      ...(typeof prompt === 'string' ? [{ role: 'user', content: prompt }] : []),
    ],
  };
}

/** Whether the caller did not request a message: stream events, and texts of subagents. */
function isHidden({ type, status, parent_tool_use_id: parent, message }: JsonObject, given: Fields): boolean {
  if (type === 'stream_event' || status === 'requesting') return given.includePartialMessages !== true;
  if (typeof parent !== 'string' || given.forwardSubagentText === true) return false;
  const { content } = fieldsOf(message);
  return Array.isArray(content) && !content.some((block) => /^tool_/.test(String(fieldsOf(block)['type'])));
}

/** Runs a function within the tool call with an id. */
type WithinTool = (toolCallId: string, run: () => unknown) => unknown;

/** The MCP servers of this process, whose tools run within their tool call; the others unchanged. */
function tracedServers(servers: unknown, withinTool: WithinTool): object {
  const entries = Object.entries(fieldsOf(servers)).map(([name, server]) => {
    const { instance } = fieldsOf(server);
    if (typeof instance !== 'object' || instance === null) return [name, server];
    return [name, { ...fieldsOf(server), instance: tracedServer(instance, withinTool) }];
  });
  return Object.fromEntries(entries);
}

function tracedServer(instance: object, withinTool: WithinTool): object {
  const connect = async (transport: { onmessage?: Method }): Promise<void> => {
    await (Reflect.get(instance, 'connect') as Method).call(instance, transport);
    const receive = transport.onmessage;
    transport.onmessage = (message, ...rest) => {
      const run = (): unknown => receive?.call(transport, message, ...rest);
      const { _meta: meta } = fieldsOf(fieldsOf(message)['params']);
      const { 'claudecode/toolUseId': toolCallId } = fieldsOf(meta);
      return typeof toolCallId === 'string' ? withinTool(toolCallId, run) : run();
    };
  };
  return withMembers(instance, { connect });
}
