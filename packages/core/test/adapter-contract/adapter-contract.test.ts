import {
  type AdapterUnderTest,
  jsonSchemaOf,
  type SceneAgent,
  type SceneTool,
} from '../../src/testing/adapter-contract/adapter-under-test.ts';
import { describeAdapterContract } from '../../src/testing/adapter-contract/describe-adapter-contract.ts';
import { instrumentToy } from './toy-adapter.ts';
import { embed, listeners, runAgent, type ToyAgent, type ToyModel, type ToyTool, toyModel } from './toy-framework.ts';

const quiet = { isStreamed: false, onText: () => true, signal: null };

function toyTool({ name, description, parameters, run }: SceneTool): [string, ToyTool] {
  const definition = { name, description, parameters: { ...jsonSchemaOf(parameters) } };
  return [name, { definition: { type: 'function', function: definition }, run }];
}

function subAgentTool(agent: SceneAgent<ToyModel>): [string, ToyTool] {
  const name = `ask_${agent.name}`;
  const [, tool] = toyTool({ name, description: 'Asks.', parameters: { question: 'string' }, run: async () => '' });
  const run: ToyTool['run'] = ({ question }, parentId) => {
    const messages = [
      { role: 'system' as const, content: agent.instructions },
      { role: 'user' as const, content: String(question) },
    ];
    return runAgent(toyAgent(agent), { ...quiet, messages, parentId });
  };
  return [name, { ...tool, run }];
}

function toyAgent({ name, model, tools, subAgents, output }: SceneAgent<ToyModel>): ToyAgent {
  const schema = output === null ? null : { name: 'answer', schema: { ...jsonSchemaOf(output) } };
  return {
    name,
    model,
    tools: new Map([...tools.map(toyTool), ...subAgents.map(subAgentTool)]),
    extra: schema === null ? {} : { response_format: { type: 'json_schema', json_schema: schema } },
  };
}

const toy: AdapterUnderTest<ToyModel> = {
  name: 'a toy framework',
  instrument: instrumentToy,
  createModel: ({ baseUrl: baseURL, apiKey, maxRetries, model, choices, isCached }) => ({
    client: toyModel({ baseURL, apiKey, maxRetries }),
    request: { model, ...(choices === 1 ? {} : { n: choices }) },
    cache: isCached ? new Map() : null,
  }),
  ask: (agent, { prompt, imageUrl, history, ...ask }) => {
    const text = { type: 'text' as const, text: prompt };
    const content = imageUrl === null ? prompt : [text, { type: 'image_url' as const, image_url: { url: imageUrl } }];
    const system = { role: 'system' as const, content: agent.instructions };
    const messages = [system, ...history, { role: 'user' as const, content }];
    return runAgent(toyAgent(agent), { ...ask, messages, parentId: null });
  },
  embed: (text, { baseUrl: baseURL, apiKey, maxRetries, model }) =>
    embed(toyModel({ baseURL, apiKey, maxRetries }), model, text),
  footprint: () => [...listeners],
  cannot: { 'responses-api': 'the toy framework supports only Chat Completions' },
};

describeAdapterContract(toy);
