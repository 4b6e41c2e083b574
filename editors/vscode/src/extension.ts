/** Starts `jobspec lsp`, and says how to install it where it is not there. All else is the language server's. */

import { type ExtensionContext, commands, window, workspace } from "vscode";
import { LanguageClient } from "vscode-languageclient/node";

import { program } from "./program";

let client: LanguageClient | undefined;

export async function activate(context: ExtensionContext): Promise<void> {
  context.subscriptions.push(
    commands.registerCommand("jobspec.restart", restart),
    workspace.onDidChangeConfiguration((change) => (change.affectsConfiguration("jobspec") ? restart() : undefined)),
  );
  await start();
}

export async function deactivate(): Promise<void> {
  await client?.stop();
}

async function restart(): Promise<void> {
  await client?.stop();
  client = undefined;
  await start();
}

async function start(): Promise<void> {
  const folders = (workspace.workspaceFolders ?? []).map((each) => each.uri.fsPath);
  const setting = workspace.getConfiguration("jobspec").get<string>("command", "");
  const command = program(workspace.isTrusted ? setting : "", workspace.isTrusted ? folders : [], process.env["PATH"] ?? "");
  if (command === undefined) {
    const where = setting === "" ? "neither in .venv of this folder nor in the PATH" : `not at ${setting}`;
    void window.showWarningMessage(`jobspec is ${where}: install it there, with pygls, then "jobspec: Restart the language server".`);
    return;
  }
  client = new LanguageClient(
    "jobspec",
    "jobspec",
    { command, args: ["lsp"] },
    {
      documentSelector: [{ scheme: "file", language: "yaml" }, { scheme: "file", language: "json", pattern: "**/*.json" }],
      synchronize: { fileEvents: workspace.createFileSystemWatcher("**/{*.yaml,*.yml,*.json,*.toml,.jobspecignore,.gitignore}") },
    },
  );
  try {
    await client.start();
  } catch (error) {
    void window.showErrorMessage(`jobspec did not start (${String(error)}): its language server needs \`pip install pygls\`.`);
  }
}
