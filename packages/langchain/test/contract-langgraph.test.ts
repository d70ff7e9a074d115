import { describeAdapterContract } from '@agentlightning/core/testing';
import { reactAgentUnderTest } from './react-agent-under-test.ts';

describeAdapterContract(reactAgentUnderTest('langgraph 1.7'));
