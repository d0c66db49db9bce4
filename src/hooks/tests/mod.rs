mod answers;
mod faults;
mod settings;
