import { type AdapterUnderTest, jsonSchemaOf, type SceneAgent, type SceneAsk } from '@agentlightning/core/contracts';
import type * as agentsModule from '@openai/agents';
import { instrumentOpenAIAgents } from '../src/index.ts';

/** The framework's module, in any version. */
export type AgentsModule = typeof agentsModule;

/** The matching `openai` client class. */
export type OpenAIClass = new (options: {
  baseURL: string;
  apiKey: string;
  maxRetries: number;
}) => ConstructorParameters<AgentsModule['OpenAIResponsesModel']>[0];

/** A model with its agent settings. */
export interface SceneModel {
  readonly model: agentsModule.Model;
  readonly choices: number;
}

/** The framework version to test. */
export interface Framework {
  readonly name: string;
  readonly agents: AgentsModule;
  readonly OpenAI: OpenAIClass;
  /** The default API of the scenes. */
  readonly api: 'chat-completions' | 'responses';
  /** The `modules` option of the adapter. @default none: found automatically */
  readonly modules?: readonly unknown[];
}

type Cannot = AdapterUnderTest<SceneModel>['cannot'];

const nowhere: Cannot = {
  embeddings: 'OpenAI Agents has no embeddings',
  'cached-response': 'OpenAI Agents has no response cache',
};

/** Unsupported scenes, by model API. */
export const cannot: Readonly<Record<Framework['api'], Cannot>> = {
  'chat-completions': nowhere,
  responses: { ...nowhere, 'many-choices': 'The Responses API returns one choice' },
};

/** Agents as in the framework's documentation. */
export function openAIAgentsUnderTest(framework: Framework, missing: Cannot): AdapterUnderTest<SceneModel> {
  const { agents, OpenAI, name, api, modules = [] } = framework;
  return {
    name,
    api,
    instrument: ({ redirect }) => instrumentOpenAIAgents({ redirect, modules }),
    createModel: (options) => {
      const { baseUrl, apiKey, maxRetries, model, choices } = options;
      const client = new OpenAI({ baseURL: baseUrl, apiKey, maxRetries });
      const ModelClass = options.api === 'responses' ? agents.OpenAIResponsesModel : agents.OpenAIChatCompletionsModel;
      return { model: new ModelClass(client, model), choices };
    },
    ask: (agent, ask) => askAgent(agents, buildAgent(agents, agent), ask),
    footprint: () => footprintOf(agents, OpenAI),
    cannot: missing,
  };
}

function buildAgent(
  agents: AgentsModule,
  { name, instructions, model, tools, subAgents, output }: SceneAgent<SceneModel>,
): agentsModule.Agent<unknown, agentsModule.AgentOutputType> {
  return new agents.Agent<unknown, agentsModule.AgentOutputType>({
    name,
    instructions,
    model: model.model,
    modelSettings: model.choices === 1 ? {} : { providerData: { n: model.choices } },
    tools: [
      ...tools.map((scene) =>
        agents.tool({
          name: scene.name,
          description: scene.description,
          parameters: jsonSchemaOf(scene.parameters),
          strict: true,
          // Without it, the framework hides the tool error from the model and from the trace.
          errorFunction: (_context, error) => `The tool failed: ${String(error)}`,
          execute: (input) => scene.run(input as Readonly<Record<string, unknown>>),
        }),
      ),
      ...subAgents.map((sub) =>
        buildAgent(agents, sub).asTool({
          toolName: `ask_${sub.name}`,
          toolDescription: `Asks ${sub.name}.`,
          parameters: jsonSchemaOf({ question: 'string' }),
        }),
      ),
    ],
    ...(output === null
      ? {}
      : { outputType: { type: 'json_schema', name: 'answer', strict: true, schema: jsonSchemaOf(output) } as const }),
  });
}

async function askAgent(
  agents: AgentsModule,
  agent: agentsModule.Agent<unknown, agentsModule.AgentOutputType>,
  { prompt, imageUrl, history, isStreamed, onText, signal }: SceneAsk,
): Promise<string> {
  const content =
    imageUrl === null
      ? prompt
      : [
          { type: 'input_text' as const, text: prompt },
          { type: 'input_image' as const, image: imageUrl },
        ];
  const input = [
    ...history.map((message) =>
      message.role === 'user' ? agents.user(message.content) : agents.assistant(message.content),
    ),
    agents.user(content),
  ];
  const options = signal === null ? {} : { signal };
  if (!isStreamed) return textOf((await agents.run(agent, input, options)).finalOutput);
  const result = await agents.run(agent, input, { ...options, stream: true });
  let text = '';
  for await (const piece of result.toTextStream()) {
    text += piece;
    if (!onText(piece)) return text;
  }
  await result.completed;
  return signal?.aborted === true ? text : textOf(result.finalOutput);
}

function textOf(output: unknown): string {
  return typeof output === 'string' ? output : JSON.stringify(output);
}

function footprintOf(agents: AgentsModule, OpenAI: OpenAIClass): readonly unknown[] {
  const provider = Reflect.get(globalThis, Symbol.for('openai.agents.core.traceProvider')) as object;
  const holders = [
    provider,
    OpenAI.prototype,
    agents.OpenAIResponsesModel.prototype,
    agents.OpenAIChatCompletionsModel.prototype,
    agents.OpenAITracingExporter.prototype,
  ];
  return holders.flatMap((holder) =>
    Object.values(Object.getOwnPropertyDescriptors(holder)).map((descriptor) => descriptor.value ?? descriptor.get),
  );
}
