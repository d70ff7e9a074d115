import { describeAdapterContract } from '@agentlightning/core/contracts';
import * as agentsModule from 'openai-agents-v0.14';
import { OpenAI as OpenAI6 } from 'openai-v6';
import { type AgentsModule, cannot, type OpenAIClass, openAIAgentsUnderTest } from './openai-agents-under-test.ts';

// The last versions for openai 6. The parts used by the driver are the same as in the current version.
const agents = agentsModule as unknown as AgentsModule;
const OpenAI = OpenAI6 as unknown as OpenAIClass;
const modules = [agents, OpenAI];

describeAdapterContract(
  openAIAgentsUnderTest(
    { name: 'openai-agents 0.14, Chat Completions', agents, OpenAI, api: 'chat-completions', modules },
    cannot['chat-completions'],
  ),
);

describeAdapterContract(
  openAIAgentsUnderTest(
    { name: 'openai-agents 0.14, Responses', agents, OpenAI, api: 'responses', modules },
    cannot.responses,
  ),
);
