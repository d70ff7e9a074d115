import { describeAdapterContract } from '@agentlightning/core/contracts';
import { Agent } from '@mastra/core/agent';
import { instrumentMastra } from '../src/index.ts';
import { askSceneAgent, sceneModel } from './scene-agent.ts';

describeAdapterContract({
  name: 'mastra 1',
  instrument: ({ redirect }) => instrumentMastra(Agent, { redirect }),
  createModel: sceneModel,
  ask: askSceneAgent,
  footprint: () => [Agent.prototype.generate, Agent.prototype.stream],
  cannot: {
    embeddings: 'Mastra embeds with functions of the AI SDK',
    'many-choices': 'Mastra requests one choice only',
    'cached-response': 'the cache of Mastra is a processor of the user',
  },
});
