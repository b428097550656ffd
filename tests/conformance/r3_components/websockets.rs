//! The global `WebSocket` of components, which packages of the registry expect on each Node that
//! runs them.

use millrace_tests::Server;
use millrace_tests::websocket::EchoServer;
use serde_json::json;

#[tokio::test]
async fn r3_code_and_its_threads_have_the_websocket_of_browsers() {
    let server = Server::shared().await;
    let echo = EchoServer::start().await;
    let talk = "const talk = (url) => new Promise((yes, no) => {
        const got = []; const socket = new WebSocket(url, ['chat']); socket.binaryType = 'arraybuffer';
        socket.addEventListener('open', () => { socket.send('hello'); socket.send('x'.repeat(1000)); socket.send(new Uint8Array([1, 2])); });
        socket.onmessage = ({ data }) => { got.push(typeof data === 'string' ? data.length : [...new Uint8Array(data)]); if (got.length === 3) socket.close(1000, 'done'); };
        socket.onclose = ({ code, wasClean }) => yes([got, socket.protocol, code, wasClean]);
        socket.onerror = (event) => no(new Error(event.message ?? 'it failed')); });";
    let code = format!(
        "import {{ Worker }} from 'node:worker_threads'; {talk}
         const inThread = `{talk} talk(require('node:worker_threads').workerData).then((said) => require('node:worker_threads').parentPort.postMessage(said));`;
         export default {{ name: 's', version: '1', props: {{ url: 'string' }}, async run() {{
           const own = await talk(this.url);
           const thread = await new Promise((yes, no) => new Worker(inThread, {{ eval: true, workerData: this.url }}).on('message', yes).on('error', no));
           return {{ own, thread, kind: typeof globalThis.WebSocket, state: WebSocket.OPEN }}; }} }};"
    );
    let said = json!([[5, 1000, [1, 2]], "chat", 1000, true]);
    let got =
        server.returned(&code, json!({ "url": format!("ws://127.0.0.1:{}/", echo.port) })).await;
    assert_eq!(got, json!({ "own": said, "thread": said, "kind": "function", "state": 1 }));
    assert_eq!(echo.connections(), 2);
}
