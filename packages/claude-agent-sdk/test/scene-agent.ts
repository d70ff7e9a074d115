import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  jsonSchemaOf,
  type SceneAgent,
  type SceneAsk,
  type SceneFields,
  type SceneModelOptions,
} from '@agentlightning/core/contracts';
import { createSdkMcpServer, type Options, type query, tool } from '@anthropic-ai/claude-agent-sdk';
import { z } from 'zod';

/** The model of a scene: the options that select it. */
export type SceneModel = Pick<Options, 'model' | 'env'>;

/** Options for a process that reads no settings of the user and makes no other calls. */
export function sceneModel({ baseUrl, apiKey, model, maxRetries }: SceneModelOptions): SceneModel {
  return { model, env: sceneEnvironment({ baseUrl, apiKey, maxRetries }) };
}

/** The environment of a Claude Code process in tests. */
export function sceneEnvironment(options: {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly maxRetries: number;
}): Record<string, string | undefined> {
  return {
    PATH: process.env['PATH'],
    HOME: tmpdir(),
    CLAUDE_CONFIG_DIR: join(tmpdir(), 'agentlightning-claude-tests'),
    ANTHROPIC_BASE_URL: options.baseUrl.replace('/v1', ''),
    ANTHROPIC_AUTH_TOKEN: options.apiKey,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: '1',
    CLAUDE_CODE_MAX_RETRIES: String(options.maxRetries),
  };
}

/** Runs an agent as the SDK documents them. */
export async function askSceneAgent(
  wrap: (agentName: string) => typeof query,
  agent: SceneAgent<SceneModel>,
  ask: SceneAsk,
): Promise<string> {
  const { prompt, isStreamed, onText, signal } = ask;
  const abortController = new AbortController();
  signal?.addEventListener('abort', () => abortController.abort(signal.reason));
  const names = [...agent.tools.map(({ name }) => name), ...agent.subAgents.map(({ name }) => `ask_${name}`)];
  let text = '';
  const options: Options = {
    ...agent.model,
    systemPrompt: agent.instructions,
    abortController,
    tools: [],
    mcpServers: { scene: serverOf(wrap, agent) },
    toolAliases: Object.fromEntries(names.map((name) => [name, `mcp__scene__${name}`])),
    allowedTools: [...names, ...names.map((name) => `mcp__scene__${name}`)],
    settingSources: [],
    persistSession: false,
    includePartialMessages: isStreamed,
    ...(agent.output === null ? {} : { outputFormat: { type: 'json_schema', schema: jsonSchemaOf(agent.output) } }),
  };
  for await (const message of wrap(agent.name)({ prompt, options })) {
    if (message.type === 'result') {
      if (message.subtype !== 'success' || message.is_error) throw new Error(JSON.stringify(message));
      return agent.output === null ? message.result : JSON.stringify(message.structured_output);
    }
    if (message.type !== 'stream_event' || message.event.type !== 'content_block_delta') continue;
    if (message.event.delta.type !== 'text_delta') continue;
    text += message.event.delta.text;
    if (!onText(message.event.delta.text)) break;
  }
  return text;
}

function serverOf(
  wrap: (agentName: string) => typeof query,
  agent: SceneAgent<SceneModel>,
): ReturnType<typeof createSdkMcpServer> {
  const content = (text: string): { content: { type: 'text'; text: string }[] } => ({
    content: [{ type: 'text', text }],
  });
  return createSdkMcpServer({
    name: 'scene',
    alwaysLoad: true,
    tools: [
      ...agent.tools.map(({ name, description, parameters, run }) =>
        tool(name, description, shapeOf(parameters), async (input) => content(await run(input))),
      ),
      ...agent.subAgents.map((subAgent) =>
        tool(`ask_${subAgent.name}`, `Asks ${subAgent.name}.`, { question: z.string() }, async ({ question }) => {
          const ask = {
            prompt: question,
            imageUrl: null,
            history: [],
            isStreamed: false,
            onText: () => true,
            signal: null,
          };
          return content(await askSceneAgent(wrap, subAgent, ask));
        }),
      ),
    ],
  });
}

function shapeOf(fields: SceneFields): Record<string, z.ZodType> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, type]) => [name, type === 'string' ? z.string() : z.number()]),
  );
}
