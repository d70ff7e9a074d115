import type { SceneAgent, SceneAsk, SceneFields, SceneModelOptions } from '@agentlightning/core/contracts';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { z } from 'zod';

type MastraModel = ConstructorParameters<typeof Agent>[0]['model'];

/** The model of a scene, with its retry limit. */
export interface SceneModel {
  readonly model: MastraModel;
  readonly maxRetries: number;
}

export function sceneModel(options: SceneModelOptions): SceneModel {
  const { baseUrl: baseURL, apiKey, model, maxRetries } = options;
  const languageModel =
    options.api === 'responses'
      ? createOpenAI({ baseURL, apiKey }).responses(model)
      : createOpenAICompatible({
          name: 'scripted',
          baseURL,
          apiKey,
          includeUsage: true,
          supportsStructuredOutputs: true,
        })(model);
  // Mastra requires the models of one exact version of the provider package, in types only.
  return { model: languageModel as unknown as MastraModel, maxRetries };
}

/** Runs an agent as Mastra documents them. */
export async function askSceneAgent(agent: SceneAgent<SceneModel>, ask: SceneAsk): Promise<string> {
  const { isStreamed, onText, signal } = ask;
  const mastraAgent = agentOf(agent);
  const options = {
    modelSettings: { maxRetries: agent.model.maxRetries },
    ...(signal === null ? {} : { abortSignal: signal }),
  };
  const structured = { ...options, structuredOutput: { schema: z.object(shapeOf(agent.output ?? {})) } };
  if (!isStreamed) {
    if (agent.output !== null) return JSON.stringify((await mastraAgent.generate(messagesOf(ask), structured)).object);
    const result = await mastraAgent.generate(messagesOf(ask), options);
    if (result.error !== undefined) throw result.error;
    return result.text;
  }
  const result = await mastraAgent.stream(messagesOf(ask), options);
  let text = '';
  for await (const chunk of result.fullStream) {
    if (chunk.type === 'error') throw chunk.payload.error;
    if (chunk.type === 'abort') throw signal?.reason ?? new DOMException('aborted', 'AbortError');
    if (chunk.type !== 'text-delta') continue;
    text += chunk.payload.text;
    if (!onText(chunk.payload.text)) break;
  }
  return text;
}

function agentOf(agent: SceneAgent<SceneModel>): Agent {
  const { name, instructions, tools, subAgents } = agent;
  const own = tools.map((tool) => [
    tool.name,
    createTool({
      id: tool.name,
      description: tool.description,
      inputSchema: z.object(shapeOf(tool.parameters)),
      execute: (input) => tool.run(input),
    }),
  ]);
  const agents = subAgents.map((subAgent) => [
    `ask_${subAgent.name}`,
    createTool({
      id: `ask_${subAgent.name}`,
      description: `Asks the agent ${subAgent.name}.`,
      inputSchema: z.object({ question: z.string() }),
      execute: async ({ question }) => (await agentOf(subAgent).generate(question)).text,
    }),
  ]);
  return new Agent({
    id: name,
    name,
    instructions,
    model: agent.model.model,
    maxRetries: agent.model.maxRetries,
    tools: Object.fromEntries([...own, ...agents]),
  });
}

function messagesOf({ prompt, imageUrl, history }: SceneAsk): Parameters<Agent['generate']>[0] {
  const content =
    imageUrl === null
      ? prompt
      : [
          { type: 'text' as const, text: prompt },
          { type: 'file' as const, data: imageUrl, mediaType: 'image/png' },
        ];
  const earlier = history.map(({ role, content: text }) =>
    role === 'user' ? { role: 'user' as const, content: text } : { role: 'assistant' as const, content: text },
  );
  return [...earlier, { role: 'user' as const, content }];
}

function shapeOf(fields: SceneFields): Record<string, z.ZodType> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, type]) => [name, type === 'string' ? z.string() : z.number()]),
  );
}
