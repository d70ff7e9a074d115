import { withoutPasswords } from '@agentlightning/core/internal';
import { Command } from 'commander';
import { packageVersion } from '../events/package-version.ts';
import { addDatasetCommand, addDatasetsCommand } from './dataset/dataset-command.ts';
import { addDeployCommand, addModelCommands } from './deploy/deploy-commands.ts';
import { addServeCommand } from './deploy/serve-command.ts';
import { addDevCommand } from './evaluation/dev-command.ts';
import { addEvalCommand } from './evaluation/eval-command.ts';
import { addExportCommand } from './export/export-command.ts';
import type { ProgramOptions } from './flags.ts';
import { addPromptsCommand, addRunsCommand, addShowCommand, addWorkersCommand } from './inspect/inspection-commands.ts';
import { addRolloutsCommand } from './inspect/rollouts-command.ts';
import { addTraceCommand } from './inspect/trace-command.ts';
import { addKeysCommand } from './keys/keys-command.ts';
import { addMcpCommand } from './mcp/mcp-command.ts';
import { addDoctorCommand } from './project/doctor-command.ts';
import { addInitCommand } from './project/init-command.ts';
import { addRewardCommands } from './reward/reward-command.ts';
import { addConfigCommand } from './serve/config-command.ts';
import { addDashboardCommand } from './serve/dashboard-command.ts';
import { addGatewayCommand } from './serve/gateway-command.ts';
import { addKubernetesRunnerCommand } from './serve/kubernetes-runner-command.ts';
import { addRunnerCommand } from './serve/runner-command.ts';
import { addRuntimeCommand } from './serve/runtime-command.ts';
import { addServerCommand } from './serve/server-command.ts';
import { addStoreCommand } from './store/store-command.ts';
import { addTasksCommand } from './tasks/tasks-command.ts';
import { addStopCommand } from './train/stop-command.ts';
import { addResumeCommand, addTrainCommand } from './train/train-command.ts';

/** The `agl` command with all its sub-commands. */
export function buildProgram(options: ProgramOptions): Command {
  const program = new Command('agl')
    .description(
      'Train AI agents written in TypeScript: reinforcement learning of their models, optimisation of their prompts.',
    )
    .version(packageVersion(), '-v, --version', 'the version of this package')
    .configureOutput({ writeErr: (text) => void process.stderr.write(withoutPasswords(text)) })
    .showSuggestionAfterError()
    .showHelpAfterError('(run with --help for the flags)')
    .exitOverride();
  program.commandsGroup('Set up and try:');
  addInitCommand(program);
  addDoctorCommand(program, options);
  addDevCommand(program, options);
  addTraceCommand(program, options);
  addTasksCommand(program, options);
  program.commandsGroup('Train:');
  addTrainCommand(program, options);
  addResumeCommand(program);
  addStopCommand(program);
  addEvalCommand(program, options);
  addRewardCommands(program, options);
  program.commandsGroup('Inspect and export:');
  addDashboardCommand(program);
  addRunsCommand(program);
  addRolloutsCommand(program);
  addShowCommand(program);
  addPromptsCommand(program);
  addDatasetCommand(program);
  addDatasetsCommand(program);
  addExportCommand(program, options);
  addMcpCommand(program);
  program.commandsGroup('Serve and operate:');
  addDeployCommand(program);
  addModelCommands(program);
  addServeCommand(program);
  addServerCommand(program);
  addConfigCommand(program);
  addKeysCommand(program);
  addStoreCommand(program);
  addWorkersCommand(program);
  addGatewayCommand(program);
  addRunnerCommand(program);
  addKubernetesRunnerCommand(program);
  addRuntimeCommand(program);
  return program;
}
