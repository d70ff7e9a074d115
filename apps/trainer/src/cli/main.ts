#!/usr/bin/env node
import './run-command-line.ts';
