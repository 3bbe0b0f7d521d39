//! Three servers that keep one JetStream: any one machine may stop.

use std::net::TcpListener;
use std::process::{Command, Stdio};

use countersign_core::bus::server_program;

use crate::TempData;
use crate::server::KilledOnDrop;

const SERVERS: usize = 3;

/// A cluster of three nats-servers with one default account; gone on drop.
pub struct Cluster {
    // Dropped before their folder.
    servers: Vec<Option<KilledOnDrop>>,
    data: TempData,
    clients: Vec<u16>,
    program: std::path::PathBuf,
}

impl Cluster {
    /// Starts all three; they need some seconds until they have agreed on a leader.
    pub async fn start() -> Self {
        let data = TempData::new();
        let (program, _) = server_program(None).await.expect("nats-server is there");
        let ports = free_ports(2 * SERVERS);
        let (clients, routes) = ports.split_at(SERVERS);
        let known: Vec<String> = routes
            .iter()
            .map(|port| format!("\"nats://127.0.0.1:{port}\""))
            .collect();
        for (number, (client, route)) in clients.iter().zip(routes).enumerate() {
            let folder = data.path().display();
            let text = format!(
                "listen: \"127.0.0.1:{client}\"\nserver_name: n{number}\nmax_payload: 4194304\n\
                 log_file: \"{folder}/{number}.log\"\n\
                 jetstream {{ store_dir: \"{folder}/{number}\", max_file_store: 1TB }}\n\
                 cluster {{ name: test, listen: \"127.0.0.1:{route}\", routes: [{}] }}\n",
                known.join(", ")
            );
            std::fs::write(data.path().join(format!("{number}.conf")), text)
                .expect("a temporary folder is writable");
        }
        let mut cluster = Self {
            servers: (0..SERVERS).map(|_| None).collect(),
            clients: clients.to_vec(),
            data,
            program,
        };
        for number in 0..SERVERS {
            cluster.start_one(number);
        }
        cluster
    }

    /// All of them, with commas.
    pub fn url(&self) -> String {
        let urls = self.clients.iter();
        let urls: Vec<String> = urls
            .map(|port| format!("nats://127.0.0.1:{port}"))
            .collect();
        urls.join(",")
    }

    /// Kills one with -9.
    pub fn kill(&mut self, number: usize) {
        self.servers[number] = None;
    }

    /// Starts one with what it has stored.
    pub fn start_one(&mut self, number: usize) {
        let child = Command::new(&self.program)
            .arg("--config")
            .arg(self.data.path().join(format!("{number}.conf")))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("nats-server can be started");
        self.servers[number] = Some(KilledOnDrop(child));
    }
}

/// The routes must be known before a server listens; all are held until each was given another one.
fn free_ports(count: usize) -> Vec<u16> {
    let held: Vec<TcpListener> = (0..count)
        .map(|_| TcpListener::bind("127.0.0.1:0").expect("a port is free"))
        .collect();
    let port = |held: &TcpListener| held.local_addr().expect("it listens").port();
    held.iter().map(port).collect()
}
