// Run by the matrix with this version installed.
import { describeAdapterContract } from '@agentlightning/core/contracts';
import { reactAgentUnderTest } from '../react-agent-under-test.ts';

describeAdapterContract(reactAgentUnderTest('langgraph 0.4', { reasoning: '@langchain/openai 0.6 drops reasoning' }));
