// @module-tag long
import { describeRuntimeConformance } from '../../src/testing/index.ts';
import { startBagRuntime } from './start-bag-runtime.ts';

describeRuntimeConformance({ name: 'the bag-of-tokens runtime', start: startBagRuntime });
