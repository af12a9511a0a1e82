// SPDX-License-Identifier: MIT OR Apache-2.0
// Starts the language server for P4 programs, and says what to do if it cannot. What names mean is the server's to say.
import { commands, type ExtensionContext, type LogOutputChannel, window, workspace } from "vscode";
import { CloseAction, ErrorAction, LanguageClient } from "vscode-languageclient/node";

const SETTING = "marklab.command";

/** The library's errors are for the log: a user gets one message, with the remedy. */
class Client extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}

/** The server, of which one at most runs at a time. */
class Server {
  private client: Client | undefined;
  /** Starts and stops go one after another, and only the newest counts. */
  private last: Promise<void> = Promise.resolve();
  private newest = 0;

  constructor(private readonly log: LogOutputChannel) {}

  restart(): Promise<void> {
    return this.next((isNewest) => this.start(isNewest));
  }

  stop(): Promise<void> {
    return this.next(() => {});
  }

  private next(step: (isNewest: () => boolean) => Promise<void> | void): Promise<void> {
    const number = ++this.newest;
    const isNewest = () => number === this.newest;
    // A command that is no server never answers, and would keep the next one waiting.
    if (this.client?.isRunning() === false) this.client.serverProcess?.kill();
    this.last = this.last.then(async () => {
      if (this.client?.isRunning()) await this.client.stop().catch((error) => this.log.error(error));
      this.client = undefined;
      if (isNewest()) await step(isNewest);
    });
    return this.last;
  }

  private async start(isNewest: () => boolean): Promise<void> {
    const words: unknown = workspace.getConfiguration().get(SETTING);
    if (!isCommand(words)) {
      void this.tell(`The setting \`${SETTING}\` has to be a list of words, such as ["marklab", "lsp"].`, "Settings");
      return;
    }
    const [command, ...args] = words;
    const line = words.join(" ");
    this.log.info(`Starting ${line}`);
    let answered = false;
    const closed = () => {
      if (answered) void this.tell(`\`${line}\` has ended. The output may say why.`, "Restart", "Output");
      return { action: CloseAction.DoNotRestart, handled: true };
    };
    this.client = new Client("marklab", "Marklab", { command, args }, {
      documentSelector: [{ scheme: "file", language: "p4" }],
      outputChannel: this.log,
      initializationFailedHandler: () => false,
      errorHandler: { error: () => ({ action: ErrorAction.Continue, handled: true }), closed },
    });
    try {
      await this.client.start();
      answered = true;
    } catch (error) {
      const code = /\bspawn .* (E[A-Z]+)/.exec(String(error))?.[1];
      const otherwise = code ?? "it ended before it answered (see the output)";
      const why = code === "ENOENT" ? `there is no command \`${command}\`` : otherwise;
      const remedy = `Install the lab, or set \`${SETTING}\` to the command that starts it here.`;
      if (isNewest()) void this.tell(`\`${line}\` cannot be started: ${why}. ${remedy}`, "Settings", "Output");
    }
  }

  private async tell(problem: string, ...buttons: ("Restart" | "Settings" | "Output")[]): Promise<void> {
    this.log.error(problem);
    const chosen = await window.showErrorMessage(`Marklab: ${problem}`, ...buttons);
    if (chosen === "Restart") await this.restart();
    if (chosen === "Settings") await commands.executeCommand("workbench.action.openSettings", SETTING);
    if (chosen === "Output") this.log.show();
  }
}

function isCommand(words: unknown): words is [string, ...string[]] {
  return Array.isArray(words) && words.length > 0 && words.every((word) => typeof word === "string" && word !== "");
}

let server: Server | undefined;

export function activate({ subscriptions }: ExtensionContext): void {
  const log = window.createOutputChannel("Marklab", { log: true });
  const started = new Server(log);
  server = started;
  subscriptions.push(
    log,
    commands.registerCommand("marklab.restart", () => started.restart()),
    workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration(SETTING)) void started.restart();
    }),
  );
  void started.restart();
}

export function deactivate(): Promise<void> | undefined {
  return server?.stop();
}
