// Played by the matrix, where this version is installed.
import { describeAdapterContract } from '@agentlightning/core/contracts';
import { createAgentUnderTest } from '../create-agent-under-test.ts';
import { reactAgentUnderTest } from '../react-agent-under-test.ts';

const cannot = { reasoning: '@langchain/openai 1.0 drops reasoning' };

describeAdapterContract(
  createAgentUnderTest('langchain 1.0', {
    ...cannot,
    'structured-output': 'langchain 1.0 refuses it for a model whose name it does not know',
  }),
);
describeAdapterContract(reactAgentUnderTest('langgraph 1.0', cannot));
