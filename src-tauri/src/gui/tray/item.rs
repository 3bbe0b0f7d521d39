//! The icon and its menu, as the desktop's tray asks for them. A click is handed on.

use ksni::menu::StandardItem;
use ksni::{MenuItem, OfflineReason, ToolTip};
use tauri::image::Image;
use tokio::sync::mpsc::Sender;

use super::face::Face;

static CALM: Image<'_> = tauri::include_image!("icons/tray.png");
static WAITING: Image<'_> = tauri::include_image!("icons/tray-waiting.png");

/// What somebody chose in the tray.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Click {
    /// The window in front.
    Open,
    /// Panic on, or asked in the window to be turned off.
    Panic,
    /// The end of the program.
    Quit,
}

/// The icon.
pub(super) struct Item {
    pub(super) face: Face,
    pub(super) clicks: Sender<Click>,
}

impl Item {
    fn clicked(&self, click: Click) {
        // A person who clicks faster than it is done asks for the same again.
        if self.clicks.try_send(click).is_err() {
            tracing::debug!(?click, "a click in the tray was too much");
        }
    }
}

impl ksni::Tray for Item {
    fn id(&self) -> String {
        "countersign".to_owned()
    }

    fn title(&self) -> String {
        "Countersign".to_owned()
    }

    fn icon_pixmap(&self) -> Vec<ksni::Icon> {
        let calm = self.face.waiting == 0;
        vec![argb(if calm { &CALM } else { &WAITING })]
    }

    fn tool_tip(&self) -> ToolTip {
        ToolTip {
            title: format!("Countersign: {}", self.face.headline()),
            // Hosts may read markup here.
            description: marked(&self.face.controls.join("\n")),
            ..ToolTip::default()
        }
    }

    fn activate(&mut self, _x: i32, _y: i32) {
        self.clicked(Click::Open);
    }

    fn menu(&self) -> Vec<MenuItem<Self>> {
        let mut items = vec![entry(&self.face.headline(), Some(Click::Open))];
        items.extend(self.face.controls.iter().map(|line| entry(line, None)));
        items.push(MenuItem::Separator);
        items.push(entry("Open Countersign", Some(Click::Open)));
        let panic = match self.face.panic {
            true => "Turn panic off…",
            false => "Panic: every automatic approval off",
        };
        items.push(entry(panic, Some(Click::Panic)));
        items.push(MenuItem::Separator);
        items.push(entry("Quit", Some(Click::Quit)));
        items
    }

    fn watcher_offline(&self, reason: OfflineReason) -> bool {
        // It may come back: the icon is offered again then.
        tracing::debug!(?reason, "the desktop shows no tray");
        true
    }
}

/// An entry of the menu; without a click it is only text.
fn entry(label: &str, click: Option<Click>) -> MenuItem<Item> {
    let mut item = StandardItem {
        // A single one would mark an access key.
        label: label.replace('_', "__"),
        enabled: click.is_some(),
        ..StandardItem::default()
    };
    if let Some(click) = click {
        item.activate = Box::new(move |item: &mut Item| item.clicked(click));
    }
    MenuItem::Standard(item)
}

fn marked(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

fn argb(image: &Image<'_>) -> ksni::Icon {
    let size = |pixels: u32| i32::try_from(pixels).unwrap_or(0);
    let mut data = image.rgba().to_vec();
    data.chunks_exact_mut(4)
        .for_each(|pixel| pixel.rotate_right(1));
    ksni::Icon {
        width: size(image.width()),
        height: size(image.height()),
        data,
    }
}
