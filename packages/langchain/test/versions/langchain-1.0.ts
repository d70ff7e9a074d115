// Run by the matrix with this version installed.
import { describeAdapterContract } from '@agentlightning/core/contracts';
import { createAgentUnderTest } from '../create-agent-under-test.ts';
import { reactAgentUnderTest } from '../react-agent-under-test.ts';

const cannot = { reasoning: '@langchain/openai 1.0 drops reasoning' };

describeAdapterContract(
  createAgentUnderTest('langchain 1.0', {
    ...cannot,
    'structured-output': 'langchain 1.0 rejects it for a model with an unknown name',
  }),
);
describeAdapterContract(reactAgentUnderTest('langgraph 1.0', cannot));
