import { describeAdapterContract } from '@agentlightning/core/contracts';
import { reactAgentUnderTest } from './react-agent-under-test.ts';

describeAdapterContract(reactAgentUnderTest('langgraph 1.7'));
