#!/usr/bin/env node
import { runCreate } from './run-create.ts';

process.exitCode = await runCreate(process.argv.slice(2), process.env['npm_config_user_agent']);
