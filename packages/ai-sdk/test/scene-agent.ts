import { jsonSchemaOf, type SceneAgent, type SceneAsk, type SceneModelOptions } from '@agentlightning/core/contracts';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type * as ai from 'ai';
import type { EmbeddingModel, LanguageModel, ModelMessage, ToolSet } from 'ai';

/** A version of the AI SDK with the matching provider. */
export interface AISDKModules {
  readonly ai: typeof ai;
  readonly createOpenAICompatible: typeof createOpenAICompatible;
  readonly createOpenAI: typeof createOpenAI;
}

/** The current version. */
export const currentProviders: Omit<AISDKModules, 'ai'> = { createOpenAI, createOpenAICompatible };

/** The model of a scene, with its retry limit. */
export interface SceneModel {
  readonly languageModel: Exclude<LanguageModel, string>;
  readonly maxRetries: number;
}

export function sceneModel(modules: AISDKModules, options: SceneModelOptions): SceneModel {
  const { baseUrl: baseURL, apiKey, model, maxRetries } = options;
  const languageModel =
    options.api === 'responses'
      ? modules.createOpenAI({ baseURL, apiKey }).responses(model)
      : modules.createOpenAICompatible({
          name: 'scripted',
          baseURL,
          apiKey,
          includeUsage: true,
          supportsStructuredOutputs: true,
        })(model);
  return { languageModel, maxRetries };
}

/** Runs an agent as the AI SDK documents them: a ToolLoopAgent. */
export async function askSceneAgent(
  modules: AISDKModules,
  agent: SceneAgent<SceneModel>,
  { isStreamed, onText, signal, ...ask }: SceneAsk,
): Promise<string> {
  const loop = toolLoopAgent(modules, agent);
  const prompt = { messages: messagesOf(ask), ...(signal === null ? {} : { abortSignal: signal }) };
  if (!isStreamed) {
    const result = await loop.generate(prompt);
    return agent.output === null ? result.text : JSON.stringify(result.output);
  }
  const result = await loop.stream(prompt);
  let text = '';
  // The full stream includes errors, which the text stream omits.
  for await (const part of result.fullStream) {
    if (part.type === 'error') throw part.error;
    if (part.type === 'abort') throw signal?.reason ?? new DOMException('aborted', 'AbortError');
    if (part.type !== 'text-delta') continue;
    text += part.text;
    if (!onText(part.text)) break;
  }
  return text;
}

export async function embedText(
  modules: AISDKModules,
  value: string,
  { baseUrl: baseURL, apiKey, model, maxRetries }: SceneModelOptions,
): Promise<readonly number[]> {
  const provider = modules.createOpenAICompatible({ name: 'scripted', baseURL, apiKey });
  const { embedding } = await modules.ai.embed({
    model: provider.embeddingModel(model) as EmbeddingModel,
    value,
    maxRetries,
  });
  return embedding;
}

function toolLoopAgent(modules: AISDKModules, agent: SceneAgent<SceneModel>): ai.ToolLoopAgent<never, ToolSet> {
  const { ai } = modules;
  const telemetry = { functionId: agent.name };
  return new ai.ToolLoopAgent({
    model: agent.model.languageModel,
    maxRetries: agent.model.maxRetries,
    instructions: agent.instructions,
    tools: toolsOf(modules, agent),
    telemetry,
    // The name in version 6.
    experimental_telemetry: telemetry,
    ...(agent.output === null
      ? {}
      : { output: ai.Output.object({ schema: ai.jsonSchema(jsonSchemaOf(agent.output)) }) }),
  }) as unknown as ai.ToolLoopAgent<never, ToolSet>;
}

function toolsOf(modules: AISDKModules, agent: SceneAgent<SceneModel>): ToolSet {
  const { tool, jsonSchema } = modules.ai;
  const own = agent.tools.map(({ name, description, parameters, run }) => [
    name,
    tool({
      description,
      inputSchema: jsonSchema<Record<string, unknown>>(jsonSchemaOf(parameters)),
      execute: (input) => run(input),
    }),
  ]);
  const agents = agent.subAgents.map((subAgent) => [
    `ask_${subAgent.name}`,
    tool({
      description: `Asks the agent ${subAgent.name}.`,
      inputSchema: jsonSchema<{ question: string }>(jsonSchemaOf({ question: 'string' })),
      execute: async ({ question }) => (await toolLoopAgent(modules, subAgent).generate({ prompt: question })).text,
    }),
  ]);
  return Object.fromEntries([...own, ...agents]) as ToolSet;
}

function messagesOf({ prompt, imageUrl, history }: Pick<SceneAsk, 'prompt' | 'imageUrl' | 'history'>): ModelMessage[] {
  const content =
    imageUrl === null
      ? prompt
      : [
          { type: 'text' as const, text: prompt },
          { type: 'image' as const, image: imageUrl },
        ];
  return [...history, { role: 'user', content }];
}
