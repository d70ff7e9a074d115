#!/usr/bin/env node
import { takeYoungGeneration } from './young-generation.ts';

// Before anything else is loaded, which would have to be loaded again.
takeYoungGeneration();
await import('./run-command-line.ts');
